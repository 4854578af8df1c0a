package axis

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// ByNode orders nodes along a job's way, and by their numbers.
func ByNode(a, b string) int {
	nameA, numberA := split(a)
	nameB, numberB := split(b)
	return cmp.Or(cmp.Compare(role(nameA), role(nameB)), cmp.Compare(nameA, nameB), cmp.Compare(numberA, numberB))
}

func role(name string) int {
	i := slices.Index([]string{"submitter", "scheduler", "worker"}, name)
	if i < 0 {
		return 3
	}
	return i
}

func split(node string) (name string, number int) {
	if i := strings.LastIndexByte(node, '-'); i > 0 {
		if n, err := strconv.Atoi(node[i+1:]); err == nil {
			return node[:i], n
		}
	}
	return node, 0
}
