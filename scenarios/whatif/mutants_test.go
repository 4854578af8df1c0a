package whatif

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/wavetank-sim/wavetank/scenarios"
	"github.com/wavetank-sim/wavetank/scenarios/internal/mutants"
	"github.com/wavetank-sim/wavetank/scenarios/plans"
	"github.com/wavetank-sim/wavetank/scenarios/why"
	"github.com/wavetank-sim/wavetank/sim"
)

const (
	measured    = "testdata/mutants.tsv"
	whyOfMutant = "WAVETANK_WHY_MUTANT" // the folder in which the process of one mutant finds its task, and leaves what it found
)

// measuredNow are the mutants that TestWhyOfMutants measures.
var measuredNow = flag.String("mutants", "", "all, or new: those that the table lacks")

// task is what the process of one mutant is told, and found what it finds.
type (
	task struct {
		Invariants []string            // that runs of the mutant break
		Without    map[string][]string // what runs break without it, by name and preset
	}
	found struct {
		Name, Preset string // of the first plan that breaks one of these as it does not without the mutant; empty: none does
		Cause        *why.Cause
	}
)

// TestWhyOfMutants measures, for mistakes that are planted in the engine, what why says of a plan that exposes each: what is
// to blame, and whether its path or its parting is where the mistake acts first. That is the event at which the plan's run with
// the mistake parts from the run without it.
func TestWhyOfMutants(t *testing.T) {
	if *measuredNow == "" {
		t.Skip("-mutants=all runs this, for half an hour; -mutants=new only mutants that the table lacks")
	}
	rows := map[string]string{}
	if data, err := os.ReadFile(measured); err == nil {
		for line := range strings.Lines(string(data)) {
			name, _, _ := strings.Cut(line, "\t")
			rows[name] = line
		}
	}
	without := breaks(t)
	exposes := exposed(t)
	list := mutants.Read(t, "../testdata/mutants.yaml")
	for _, m := range list {
		t.Run(m.Name, func(t *testing.T) {
			if rows[m.Name] != "" && *measuredNow == "new" {
				t.Skip("it is measured")
			}
			if len(exposes[m.Name]) == 0 {
				t.Skip("no run breaks an invariant by it: a test, or a missed expectation, exposes it")
			}
			row := m.Name + "\t" + m.File + "\t" + whyOf(t, m, task{exposes[m.Name], without}) + "\n"
			fmt.Print(row)
			blamed, seen := columns(row)
			wasBlamed, wasSeen := columns(rows[m.Name])
			assert.True(t, blamed || !wasBlamed, "nothing is to blame any more; the table has\n%s", rows[m.Name])
			assert.True(t, seen || !wasSeen, "it is not seen any more; the table has\n%s", rows[m.Name])
			rows[m.Name] = row
			write(t, list, rows)
		})
	}
}

// rooms are the operations of the parts of the engine, by how their files begin.
var rooms = map[string][]string{
	"engine/lock/":                {"lock_acquire", "lock_renew", "lock_release", "replay_lock", "reconcile_lock"},
	"engine/locks.go":             {"reconcile_lock", "replay_lock"},
	"engine/store/write.go":       {"submit_write", "scheduled_write", "dispatched_write", "running_write", "rollback_write", "result_write", "failed_write"},
	"engine/store/tenant.go":      {"dispatched_write", "running_write", "rollback_write", "result_write"},
	"engine/request.go":           {"scheduled_write", "failed_write", "denied_write", "dispatched_write"},
	"engine/fail.go":              {"dlq_write", "failed_write", "result_write"},
	"engine/cancel.go":            {"cancel_write", "cancel_notice", "cancel_keep"},
	"engine/worker/notices.go":    {"notice_deliver", "effect", "job_ack"},
	"engine/worker/take.go":       {"effect"},
	"engine/read.go":              {"inflight_write", "processed_write", "submit_nak", "result_nak", "cancel_nak"},
	"engine/void.go":              {"void_publish"},
	"engine/result.go":            {"result_write", "saga_record"},
	"engine/bus/consumer.go":      {"submit_ack", "submit_nak", "submit_term", "result_ack", "result_nak", "result_term", "cancel_ack"},
	"engine/recovery/":            {"reconcile_read"},
	"engine/saga/":                {"saga_pop", "saga_publish", "saga_record", "saga_lock", "saga_unlock", "processed_write"},
	"engine/workflow/":            {"run_write", "run_read", "run_lock", "run_unlock", "timer_write", "submit_write", "submit_publish"},
	"engine/dlq/":                 {"dlq_write", "dlq_update", "dlq_entry_read", "committed_read", "commit_write", "result_write", "submit_publish"},
	"engine/output/":              {"output_read", "output_write", "result_write"},
	"engine/output.go":            {"result_write", "output_write"},
	"engine/routing/":             {"dispatched_write", "publish"},
	"engine/registry/memory.go":   {"dispatched_write"},
	"engine/registry/snapshot.go": {"snapshot_write", "dispatched_write", "snapshot_read"},
	"engine/safety/":              {"scheduled_write", "denied_write"},
	"engine/backoff.go":           {"submit_nak", "submit_deliver"},
	"engine/job/packet.go":        {"result_write", "result_term"},
	"engine/handling.go":          {"scheduled_write", "dlq_write", "failed_write"},
	"engine/tenant.go":            {"failed_write", "dlq_write", "scheduled_write"},
	"engine/publish.go":           {"publish"},
	"engine/warmstart.go":         {"snapshot_write"},
	"engine/dlqreplayed.go":       {"dlq_update", "commit_write"},
	"engine/dlqreplayer.go":       {"dlq_update"},
}

// elsewhere are the mistakes with which a run parts from the one without them outside of their room, and why.
var elsewhere = map[string]string{
	"lock-renewed-too-late": "a renewal is left out: the run parts at what comes next",
	"status-not-checked":    "a refusal is left out: the run parts at what comes next",
	"snapshot-seldom":       "it parts at a timer",
	"letters-uncounted":     "a metric leaves no event",
	"denials-uncounted":     "a metric leaves no event",
}

// The README says how well why sees the mistakes, by the table.
func TestTheReadmeCountsTheMutants(t *testing.T) {
	data, err := os.ReadFile(measured)
	require.NoError(t, err)
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	setting := regexp.MustCompile(`^[a-z_]+(\.[a-z_0-9]+)*=`)
	n := map[string]int{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "\t")
		if cells[0] == "mutant" || cells[2] == "-" {
			continue
		}
		n["all"]++
		n["seen "+cells[6]]++
		blamed := "circumstances"
		for _, says := range strings.Split(cells[4], "; ") {
			c := why.Tried{What: why.Setting, Says: says}
			switch {
			case says == "-":
				blamed = "nothing"
			case !setting.MatchString(says) || !c.Circumstance():
				blamed = "engine"
			}
		}
		n[blamed]++
	}
	said := regexp.MustCompile(`Of [0-9]+ mistakes that a scenario exposes .* it is on neither\.`).FindString(strings.Join(strings.Fields(string(readme)), " "))
	assert.Equal(t, fmt.Sprintf("Of %d mistakes that a scenario exposes by a broken invariant, why names a fault or a setting of the engine for %d, and only circumstances of the workload or the world for %d; %d come whatever is left out. For %d mistakes, the operation at which they act first is at the parting of the nearest run (%d) or on the path to the violation, including the violation itself (%d). For %d it is on neither.",
		n["all"], n["engine"], n["circumstances"], n["nothing"], n["seen parting"]+n["seen path"], n["seen parting"], n["seen path"], n["seen -"]), said)
}

// With `wavetank why --against` a build without the mistake, the first event that differs is an operation of the mistake's own room.
func TestMutantsPartInTheirRoom(t *testing.T) {
	data, err := os.ReadFile(measured)
	require.NoError(t, err)
	in, out := 0, 0
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(line, "\t")
		if cells[0] == "mutant" || cells[2] == "-" {
			continue
		}
		own := slices.ContainsFunc(strings.Split(cells[5], ", "), func(operation string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Keys(rooms)), func(room string) bool {
				return strings.HasPrefix(cells[1], room) && slices.Contains(rooms[room], operation)
			})
		})
		assert.Equal(t, elsewhere[cells[0]] == "", own, "%s of %s parts at %q", cells[0], cells[1], cells[5])
		if own {
			in++
		} else {
			out++
		}
	}
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	assert.Contains(t, strings.Join(strings.Fields(string(readme)), " "), fmt.Sprintf("an operation of the mistake's own part of the engine for %d of %d", in, in+out))
}

func write(t *testing.T, list []mutants.Mutant, rows map[string]string) {
	text := "mutant\tfile\tplan\tinvariant\tto blame\tacts first at\tseen by why\tsteps\n"
	for _, m := range list {
		text += rows[m.Name]
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(measured), 0o755))
	require.NoError(t, os.WriteFile(measured, []byte(text), 0o644))
}

// columns says whether a row of the table names anything that is to blame, and whether why sees where the mistake acts.
func columns(row string) (blames, seen bool) {
	list := strings.Split(row, "\t")
	return len(list) > 4 && list[4] != "-", len(list) > 6 && (list[6] == "path" || list[6] == "parting")
}

// exposed are the invariants that runs break by each mutant, the most frequent first.
func exposed(t *testing.T) map[string][]string {
	data, err := os.ReadFile("../testdata/mutants.tsv")
	require.NoError(t, err)
	list := map[string][]string{}
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.TrimSpace(line), "\t")
		for by := range strings.SplitSeq(cells[len(cells)-1], ", ") {
			if name, _, ok := strings.Cut(by, " ("); ok && !strings.Contains(by, ":") {
				list[cells[0]] = append(list[cells[0]], name)
			}
		}
	}
	return list
}

// eachRun hands every scenario under both presets to do, until that says that it is enough.
func eachRun(t *testing.T, do func(key string, p *plans.Plan) (enough bool)) {
	for _, name := range plans.Names() {
		for _, preset := range []string{plans.PresetDocumented, plans.PresetHardened} {
			if do(name+"/"+preset, load(t, name, "preset="+preset)) {
				return
			}
		}
	}
}

// breaks are the promises that runs break.
func breaks(t *testing.T) map[string][]string {
	list := map[string][]string{}
	eachRun(t, func(key string, p *plans.Plan) bool {
		list[key] = broken(t, p)
		return false
	})
	return list
}

func broken(t *testing.T, p *plans.Plan) (list []string) {
	res, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true})
	if err != nil {
		return nil
	}
	for _, v := range res.Violations {
		if v.Promised {
			list = append(list, v.Invariant)
		}
	}
	return list
}

// whyOf is the mutant's row: it has a process of its own, which is built with it.
func whyOf(t *testing.T, m mutants.Mutant, given task) string {
	dir := t.TempDir()
	program := filepath.Join(dir, "mutant.test")
	overlay, _ := mutants.Overlay(t, "../..", m)
	out, err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-w", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	data, err := json.Marshal(given)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "task.json"), data, 0o600))
	cmd := exec.Command(program, "-test.run", "^TestWhyOfAMutant$", "-test.timeout", "20m")
	cmd.Env = append(os.Environ(), whyOfMutant+"="+dir, "GOMAXPROCS=1")
	if out, err = cmd.CombinedOutput(); err != nil {
		return fmt.Sprintf("-\t-\t-\t-\tthe process ended: %v\t-", err)
	}
	data, err = os.ReadFile(filepath.Join(dir, "found.json"))
	require.NoError(t, err, "%s", out)
	var f found
	require.NoError(t, json.Unmarshal(data, &f))
	if f.Name == "" {
		return "-\t-\t-\t-\tnot exposed under the scenarios' own seeds\t-"
	}
	p := load(t, f.Name, "preset="+f.Preset)
	own := events(t, filepath.Join(dir, "trace.jsonl"))
	at := partOf(t, p, own)
	return strings.Join([]string{f.Name + ", " + f.Preset, f.Cause.Invariant, toBlame(f.Cause), strings.Join(at, ", "), seen(f.Cause, own, at), strconv.Itoa(f.Cause.Steps)}, "\t")
}

// TestWhyOfAMutant finds the first plan that exposes the mutant that this program was built with, and says why it breaks.
func TestWhyOfAMutant(t *testing.T) {
	dir := os.Getenv(whyOfMutant)
	if dir == "" {
		t.Skip("TestWhyOfMutants runs this")
	}
	var given task
	data, err := os.ReadFile(filepath.Join(dir, "task.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &given))
	var f found
	eachRun(t, func(key string, p *plans.Plan) bool {
		name, preset, _ := strings.Cut(key, "/")
		for _, invariant := range broken(t, p) {
			if !slices.Contains(given.Invariants, invariant) || slices.Contains(given.Without[key], invariant) {
				continue
			}
			cause, err := Explain(context.Background(), p, Options{Invariant: invariant, Quick: true})
			require.NoError(t, err)
			f = found{name, preset, cause}
			trace, err := os.Create(filepath.Join(dir, "trace.jsonl"))
			require.NoError(t, err)
			defer trace.Close()
			w := bufio.NewWriter(trace)
			_, err = scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true, Trace: w})
			require.NoError(t, err)
			require.NoError(t, w.Flush())
			return true
		}
		return false
	})
	data, err = json.Marshal(f)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "found.json"), data, 0o600))
}

func events(t *testing.T, file string) [][]byte {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return bytes.Split(bytes.TrimSpace(data), []byte("\n"))
}

// partOf are the operations at which the run with the mutant parts from that without it, as `wavetank why --against` shows them.
func partOf(t *testing.T, p *plans.Plan, own [][]byte) (operations []string) {
	var other bytes.Buffer
	_, err := scenarios.Run(context.Background(), p, scenarios.RunOptions{Modified: true, Trace: &other})
	require.NoError(t, err)
	_, at, err := PartingOf(bytes.NewReader(append(bytes.Join(own, []byte("\n")), '\n')), &other)
	require.NoError(t, err)
	for _, point := range []*why.Point{at.Own, at.Other} {
		if point != nil && point.Operation != "" && !slices.Contains(operations, point.Operation) {
			operations = append(operations, point.Operation)
		}
	}
	return operations
}

func toBlame(c *why.Cause) string {
	var says []string
	for _, t := range c.Needed(why.Strike, why.Setting) {
		says = append(says, t.Says)
	}
	if len(c.Together) > 0 {
		says = append(says, "one of: "+strings.Join(c.Together, "; "))
	}
	switch {
	case len(says) > 0:
		return strings.Join(says, "; ")
	case len(c.Needed(why.Remedy)) > 0:
		return "only parts of the engine"
	}
	return "-"
}

// seen says where why comes upon the operation at which the mutant acts first: at the parting of the nearest run, or on its path.
func seen(c *why.Cause, own [][]byte, operations []string) string {
	is := func(step int) bool {
		for _, line := range own {
			if e := (sim.Event{}); json.Unmarshal(line, &e) == nil && e.Step == step {
				return slices.Contains(operations, e.Phase)
			}
		}
		return false
	}
	switch {
	case c.Nearest != nil && c.Nearest.Own != nil && is(c.Nearest.Own.Step):
		return "parting"
	case slices.ContainsFunc(c.Path, func(p why.Point) bool { return is(p.Step) }) || is(c.Step):
		return "path"
	}
	return "-"
}
