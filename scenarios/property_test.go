package scenarios

import (
	"context"
	"flag"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/faultline-sim/faultline/engine"
)

// breaks runs a plan until it breaks the promise of the named invariant, or to its end, and returns
// the promises it broke.
func breaks(t require.TestingT, p *Plan, invariant string) (broken []Violation) {
	res, err := Run(context.Background(), p, RunOptions{Source: p.Name, Modified: true, StopAt: invariant})
	require.NoError(t, err)
	for _, v := range res.Violations {
		if v.Promised && (invariant == "" || v.Invariant == invariant) {
			broken = append(broken, v)
		}
	}
	return broken
}

func planText(t require.TestingT, p *Plan) string {
	data, err := Marshal(p)
	require.NoError(t, err)
	return string(data)
}

func TestEveryInvariantHoldsWithinItsPromise(t *testing.T) {
	for _, preset := range []string{PresetDocumented, PresetHardened} {
		t.Run(preset, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := Draw(t, Space{Presets: []string{preset}})
				if broken := breaks(t, p, ""); len(broken) > 0 {
					t.Fatalf("%+v\n%s", broken, planText(t, p))
				}
			})
		})
	}
}

// The seeds' alternatives lose what the documented design keeps: rapid finds it, and it shrinks to
// one job and one fault.
func TestAlternativesAreFoundAndShrunk(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true")
	setFlag(t, "rapid.checks", "3000")   // it stops at the first that fails
	setFlag(t, "rapid.shrinktime", "0s") // rapid's own takes as long as the machine lets it; Shrink takes the steps it takes
	for name, alter := range map[string]func(*Plan){
		"publish-first": func(p *Plan) { p.Engine.DispatchOrder = engine.PublishFirst },
		// Clients that submit twice make the redelivery that the read error has to meet.
		"fail-open": func(p *Plan) { p.Engine.ReadError, p.Workload.Submissions = engine.FailOpen, 2 },
	} {
		t.Run(name, func(t *testing.T) {
			const invariant = "one-dispatch-per-job"
			found := search(t, func(t *rapid.T) *Plan {
				p := Draw(t, Space{Presets: []string{PresetDocumented}})
				alter(p)
				return p
			}, invariant)
			smallest := Shrink(found, func(p *Plan) bool { return len(breaks(t, p, invariant)) > 0 })
			assert.Equal(t, 1, smallest.Workload.Jobs, "%s", planText(t, smallest))
			assert.Len(t, smallest.Faults, 1, "%s", planText(t, smallest))
			assert.Equal(t, 1, smallest.Topology.Schedulers*smallest.Topology.Workers, "%s", planText(t, smallest))
		})
	}
}

func setFlag(t *testing.T, name, value string) {
	old := flag.Lookup(name).Value.String()
	require.NoError(t, flag.Set(name, value))
	t.Cleanup(func() { require.NoError(t, flag.Set(name, old)) })
}

// search lets rapid look for a plan that breaks the invariant's promise.
func search(t *testing.T, draw func(*rapid.T) *Plan, invariant string) (found *Plan) {
	silent := &silentTB{name: t.Name()}
	done := make(chan struct{})
	go func() {
		defer close(done)
		rapid.Check(silent, func(t *rapid.T) {
			p := draw(t)
			if len(breaks(t, p, invariant)) > 0 {
				found = p
				t.Fatal(invariant)
			}
		})
	}()
	<-done
	require.NotNil(t, found, "rapid found no violation of %s", invariant)
	return found
}

// silentTB takes rapid's verdict without failing the test that asked for it.
type silentTB struct {
	testing.TB
	name   string
	failed bool
}

func (s *silentTB) Helper()               {}
func (s *silentTB) Name() string          { return s.name }
func (s *silentTB) Logf(string, ...any)   {}
func (s *silentTB) Log(...any)            {}
func (s *silentTB) Errorf(string, ...any) { s.failed = true }
func (s *silentTB) Error(...any)          { s.failed = true }
func (s *silentTB) Fail()                 { s.failed = true }
func (s *silentTB) Failed() bool          { return s.failed }
func (s *silentTB) FailNow()              { s.failed = true; runtime.Goexit() }
func (s *silentTB) Fatal(...any)          { s.FailNow() }
func (s *silentTB) Fatalf(string, ...any) { s.FailNow() }
