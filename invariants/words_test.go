package invariants

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLists(t *testing.T) {
	assert.Equal(t, []string{"", "a", "a and b", "a, b and c"},
		[]string{List(nil), List([]string{"a"}), List([]string{"a", "b"}), List([]string{"a", "b", "c"})})
	assert.Equal(t, "a, or b; c; or d", Either([]string{"a, or b", "c", "d"}))
}
