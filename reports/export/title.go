package export

import (
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"github.com/wavetank-sim/wavetank/reports/lasting"
	"github.com/wavetank-sim/wavetank/sim"
)

// title names a step in a few words.
func title(e *sim.Event) string {
	words := strings.TrimSpace(string(e.Kind) + " " + e.Name)
	switch {
	case e.Phase != "" && e.Kind == sim.KindRedis:
		return e.Phase + " (" + e.Name + ")"
	case e.Phase != "":
		return e.Phase
	case e.Target != "":
		return words + " " + e.Target
	}
	return words
}

// hash tells names apart, the same way on every machine.
func hash(parts ...string) uint64 {
	h := xxhash.Sum64String(strings.Join(parts, "\x00"))
	return max(h, 1) // 0 is none
}

// flow is the number of a message, by which its steps are linked; 0 for none.
func flow(m lasting.Message) uint64 {
	if m.Seq == 0 {
		return 0
	}
	return hash(m.Subject, strconv.FormatUint(m.Seq, 10))
}
