package judge

import (
	"maps"
	"slices"

	"github.com/wavetank-sim/wavetank/invariants/scheduler/history"
	"github.com/wavetank-sim/wavetank/invariants/scheduler/rule"
)

// typeNames are the words for the answers of TYPE.
var typeNames = map[string]string{"string": "a string", "hash": "a hash", "zset": "a sorted set", "list": "a list", "set": "a set", "stream": "a stream"}

// typeOf is the Redis type of the keys that an audit needs.
var typeOf = map[history.What]string{
	history.Record: "hash", history.StateIndex: "zset", history.Deadlines: "zset", history.LetterIndex: "zset",
	history.Letter: "string", history.MessageLetter: "string", history.SagaLetter: "string",
}

// auditTypes finds keys that have the wrong type, since somebody else has written them. It returns what the
// audit can use: Redis without those keys. Jobs whose records are among them are left out.
func (j *Judge) auditTypes(in *AuditInput) map[string]map[string]string {
	kept := maps.Clone(in.Redis)
	i := slices.IndexFunc(j.tallies, func(t *rule.Tally) bool { return t.Name == redisIndexAgreesWithRecord.Name })
	for _, key := range slices.Sorted(maps.Keys(in.Types)) {
		what, _ := history.KeyOf(key)
		want, is := typeOf[what], in.Types[key]
		if want == "" || is == "" || is == want || is == "none" {
			continue
		}
		word := typeNames[is]
		if word == "" {
			word = "of the type " + is
		}
		about := j.Facts.Job(history.RecordOf(key))
		if about != nil {
			about.Messages = nil
		}
		delete(kept, key)
		j.tallies[i].Exercise()
		j.tallies[i].Violation(about, "%s is %s, and no scheduler can read it: it must be %s", key, word, typeNames[want])
	}
	return kept
}
