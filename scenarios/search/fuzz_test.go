package search

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// An input of the fuzzer is what rapid draws from, eight bytes a draw. A plan takes some hundred of
// them: inputs that are shorter end before there is a plan, and no run takes place.
const (
	fuzzSeeds = 24
	fuzzBytes = 8 * 512
)

// fuzzCorpus are inputs to begin with: long enough for any plan, and as random as rapid's own.
func fuzzCorpus() [][]byte {
	inputs := make([][]byte, fuzzSeeds)
	for i := range inputs {
		chance := rand.NewPCG(20261121, uint64(i))
		for range fuzzBytes / 8 {
			inputs[i] = binary.LittleEndian.AppendUint64(inputs[i], chance.Uint64())
		}
	}
	return inputs
}

// FuzzPlans is the property of TestEveryInvariantHoldsWithinItsPromise for Go's own fuzzer, which is
// led by coverage. Plans are not worth minimising as bytes, and Go would take a minute for each:
//
//	go test -run '^$' -fuzz FuzzPlans -fuzzminimizetime 1x ./scenarios/search
func FuzzPlans(f *testing.F) {
	for _, input := range fuzzCorpus() {
		f.Add(input)
	}
	f.Fuzz(rapid.MakeFuzz(requireSoon))
}

// stepsOfAnInput bounds the run of an input: Go takes one that lasts ten seconds for a deadlock, and counts coverage
// meanwhile, which makes a step three times as long.
const stepsOfAnInput = 5_000

func requireSoon(t *rapid.T) {
	p := Draw(t, Space{})
	p.Schedule.StepsMax = stepsOfAnInput
	requirePromises(t, p)
}

// An input that ends early says nothing about the engine: nearly all of the corpus reach a world.
func TestFuzzCorpusReachesAWorld(t *testing.T) {
	reached, jobs := 0, 0
	fuzz := rapid.MakeFuzz(func(t *rapid.T) {
		p := Draw(t, Space{})
		reached++
		jobs += p.Workload.Jobs
	})
	for _, input := range fuzzCorpus() {
		t.Run("", func(t *testing.T) { fuzz(t, input) })
	}
	assert.Equal(t, fuzzSeeds, reached)
	assert.Greater(t, jobs, fuzzSeeds, "and not all of them in the smallest")
}
