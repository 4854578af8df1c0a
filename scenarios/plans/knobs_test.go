package plans

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/engine/settings"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/config"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// A knob is of a setting that there is, and there is one of each.
func TestKnobsAreOfSettings(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range knobs {
		_, known := Defaults().Setting(k.Name)
		assert.True(t, known, k.Name)
		assert.False(t, seen[k.Name], k.Name)
		seen[k.Name] = true
		assert.Equal(t, k.off == "", k.breaks == "" && k.says == "", k.Name)
	}
	for _, s := range Settings() {
		assert.Contains(t, Names(), s.Scenario, s.Name)
	}
}

// Every setting by which runs are judged comes from the engine's of that name, and from no other.
func TestJudgingReadsTheEnginesSettings(t *testing.T) {
	fixed := []string{
		"Outages", "Routing", "Approvals.Kernel", "Approvals.Looks", "Policy.Kernel", "Replay.Wanted", "Replay.Rules", "Replay.Kernel", "Replay.Decides", "Replay.Operators", "Replay.Errands", "Replay.Mended", "Replay.Denied", "Deduplicate", "SyncAlways", "RedisSynced", "Ledger", "FanOut", "Jobs", "Runs", "Cancels", "Submissions", "Executions", "Asked.Request", "Asked.Run", "Asked.Reason", "Workers", "HeartbeatEvery", "HeartbeatLag",
	}
	leaves := func(s settings.Settings) map[string]any {
		c, err := config.Configure(s)
		require.NoError(t, err)
		found := map[string]any{}
		var walk func(path string, v reflect.Value)
		walk = func(path string, v reflect.Value) {
			for i := range v.NumField() {
				f := v.Type().Field(i)
				switch name := strictyaml.Join(path, f.Name); {
				case !f.IsExported():
				case f.Type.Kind() == reflect.Struct && name != "Routing":
					walk(name, v.Field(i))
				default:
					found[name] = v.Field(i).Interface()
				}
			}
		}
		walk("", reflect.ValueOf(c))
		return found
	}
	settings := settings.Hardened()
	before, read := leaves(settings), map[string]string{}
	for _, s := range strictyaml.Scalars(&settings) {
		was := s.Value.Interface()
		switch s.Value.Kind() {
		case reflect.Bool:
			s.Value.SetBool(!s.Value.Bool())
		case reflect.String:
			s.Value.SetString("another")
		default:
			s.Value.SetInt(s.Value.Int() + 1)
		}
		changed := 0
		for name, value := range leaves(settings) {
			if !reflect.DeepEqual(before[name], value) {
				assert.EqualValues(t, s.Value.Interface(), value, name)
				assert.NotContains(t, read, name, s.Name)
				read[name] = s.Name
				changed++
			}
		}
		assert.LessOrEqual(t, changed, 1, s.Name)
		s.Value.Set(reflect.ValueOf(was))
	}
	for name := range before {
		assert.Equal(t, slices.Contains(fixed, name), read[name] == "", name)
	}
	assert.Equal(t, "policy.circuit_open_for", read["Policy.OpenFor"])
	assert.Equal(t, "policy.approval_ttl", read["Approvals.TTL"])
	assert.Equal(t, "tenant_limit", read["Tenants.Limit"])
	assert.Equal(t, "job_lock_ttl", read["JobLockTTL"])
	assert.Equal(t, "dlq_order", read["DLQOrder"])
}
