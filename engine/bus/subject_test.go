package bus

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestASubjectIsCovered(t *testing.T) {
	for _, c := range []struct {
		subject, other string
		want           bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.*", true}, {"a.b", "a.>", true}, {"a.b", ">", true}, {"a.*.c", "a.*.*", true}, {"a.>", "a.>", true},
		{"a.*", "a.b", false}, {"a.>", "a.*", false}, {"a", "a.>", false}, {"a.b.c", "a.b", false}, {"a.b", "a.b.c", false}, {"a.b", "a.c", false},
	} {
		assert.Equal(t, c.want, Covered(c.subject, []string{"x", c.other}), "%s by %s", c.subject, c.other)
	}
}
