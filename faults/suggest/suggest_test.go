package suggest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestClosest(t *testing.T) {
	known := []string{"publish-failure", "publish-ack-lost", "calm", "dispatched_write", "engine.max_dispatch_retries", "topology.schedulers"}
	for _, c := range []struct{ name, want string }{
		{"publish-failur", "publish-failure"},
		{"publish_failure", "publish-failure"},
		{"PUBLISH-FAILURE", "publish-failure"},
		{"pubilsh-failure", "publish-failure"}, // neighbours swapped
		{"cal", "calm"},
		{"clam", "calm"},
		{"dispatch_write", "dispatched_write"},
		{"max_dispatch_retries", "engine.max_dispatch_retries"},
		{"engine.max_dispatch_retrys", "engine.max_dispatch_retries"},
		{"scheduler", "topology.schedulers"},
		{"publish", "publish-failure"}, // the first of those that begin so
		{"zebra", ""},
		{"", ""},
		{strings.Repeat("calm", 1000), ""},
	} {
		assert.Equal(t, c.want, Closest(c.name, known), "%.20q", c.name)
	}
	assert.Empty(t, Closest("calm", nil))
	assert.Equal(t, "run", Closest("rn", []string{"list", "run"}))
	assert.Empty(t, Closest("r", []string{"list", "run"}))
	assert.Equal(t, ` (did you mean "calm"?)`, Hint("cakm", known))
	assert.Empty(t, Hint("zebra", known))
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "abd", 1}, {"ab", "ba", 1}, {"kitten", "sitting", 3}, {"größe", "grösse", 2}} {
		assert.Equal(t, c.want, distance(c.a, c.b), "%q %q", c.a, c.b)
	}
}

func ExampleHint() {
	fmt.Println("unknown scenario \"clam\"" + Hint("clam", []string{"calm", "stale-worker"}))
	// Output: unknown scenario "clam" (did you mean "calm"?)
}
