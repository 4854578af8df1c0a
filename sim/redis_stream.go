package sim

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Streams of a redis-server. Consumer groups are missing: how long an entry has been pending is measured by
// the server's clock.

// lastID is the field that holds a stream's last generated ID.
const lastID = ""

// entryText encodes an entry, whose names and values come in turn.
func entryText(namesAndValues []any) string {
	quoted := make([]string, len(namesAndValues))
	for i, s := range namesAndValues {
		quoted[i] = strconv.Quote(s.(string))
	}
	return strings.Join(quoted, " ")
}

// writeStream makes a stream of such entries. If none of them has the last ID, it adds an entry with that ID
// and deletes it.
func writeStream(p redis.Pipeliner, key string, fields map[string]string) {
	ids := sortedKeys(fields)[1:]
	slices.SortFunc(ids, compareIDs)
	for _, id := range ids {
		args := []any{"XADD", key, id}
		for text := fields[id]; text != ""; text = strings.TrimPrefix(text, " ") {
			quoted, _ := strconv.QuotedPrefix(text)
			s, _ := strconv.Unquote(quoted)
			args, text = append(args, s), text[len(quoted):]
		}
		p.Do(bg, args...)
	}
	if last := fields[lastID]; len(ids) == 0 || ids[len(ids)-1] != last {
		p.Do(bg, "XADD", key, last, "", "")
		p.XDel(bg, key, last)
	}
}

// compareIDs orders IDs of entries as Redis does.
func compareIDs(a, b string) int {
	parts := func(id string) (ms, seq uint64) {
		x, y, _ := strings.Cut(id, "-")
		ms, _ = strconv.ParseUint(x, 10, 64)
		seq, _ = strconv.ParseUint(y, 10, 64)
		return ms, seq
	}
	msA, seqA := parts(a)
	msB, seqB := parts(b)
	return cmp.Or(cmp.Compare(msA, msB), cmp.Compare(seqA, seqB))
}
