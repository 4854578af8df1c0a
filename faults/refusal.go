package faults

import (
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// refusals are the errors with which Redis can refuse commands. Each has the word that a plan uses for it,
// and says which operations it refuses. If it refuses one command of a pipeline or a transaction, it refuses
// all of them.
var refusals = []struct {
	with, text string
	refuses    func(op *sim.Op) bool
}{
	{"oom", "OOM command not allowed when used memory > 'maxmemory'.", takesMemory}, // maxmemory, with the policy noeviction
	{"full-disk", "MISCONF Errors writing to the AOF file: No space left on device", writes},
	{"readonly", "READONLY You can't write against a read only replica.", writes},
	{"noreplicas", "NOREPLICAS Not enough good replicas to write.", writes}, // min-replicas-to-write
	{"loading", "LOADING Redis is loading the dataset in memory", func(*sim.Op) bool { return true }},
	{"busy", "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.", func(*sim.Op) bool { return true }},
}

// Refusals lists the words for the reasons to refuse.
func Refusals() (words []string) {
	for _, r := range refusals {
		words = append(words, r.with)
	}
	return words
}

func writes(op *sim.Op) bool { return op.Write }

// frugal lists the commands that write and take no memory (in the answer to COMMAND they lack the flag
// denyoom). Redis carries them out when it has no memory left, but then queues no command at all for a
// transaction. In a script, real Redis refuses single commands; the model refuses none.
var frugal = []string{
	"del", "unlink", "expire", "pexpire", "expireat", "pexpireat", "persist", "getdel", "getex", "hdel", "zrem", "zremrangebyscore", "zremrangebyrank", "zremrangebylex",
	"zpopmin", "zpopmax", "srem", "spop", "lpop", "rpop", "lrem", "ltrim", "eval", "evalsha", "rename", "renamenx", "smove", "xdel", "xtrim", "lmpop", "zmpop",
}

func takesMemory(op *sim.Op) bool {
	return op.Name == sim.NameMulti || op.Write && slices.ContainsFunc(op.Commands(), func(name string) bool { return !slices.Contains(frugal, name) && !sim.Reads(name) })
}
