package faults

import (
	"slices"

	"github.com/wavetank-sim/wavetank/sim"
)

// refusals are the answers of a Redis that refuses commands, by the word that a plan has for why, and which it refuses. Of a
// pipeline or a transaction with one of those it refuses all.
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

// Refusals are the words for why Redis refuses commands.
func Refusals() (words []string) {
	for _, r := range refusals {
		words = append(words, r.with)
	}
	return words
}

func writes(op *sim.Op) bool { return op.Write }

// frugal lists the commands that write and take no memory: Redis does them when it has none left (those without the flag denyoom
// in what COMMAND says). It queues no command for a transaction then, not even those. Of a script Redis refuses what it does, one
// by one; here it does all of it.
var frugal = []string{
	"del", "unlink", "expire", "pexpire", "expireat", "pexpireat", "persist", "getdel", "getex", "hdel", "zrem", "zremrangebyscore", "zremrangebyrank", "zremrangebylex",
	"zpopmin", "zpopmax", "srem", "spop", "lpop", "rpop", "lrem", "ltrim", "eval", "evalsha", "rename", "renamenx", "smove", "xdel", "xtrim", "lmpop", "zmpop",
}

func takesMemory(op *sim.Op) bool {
	return op.Name == sim.NameMulti || op.Write && slices.ContainsFunc(op.Commands(), func(name string) bool { return !slices.Contains(frugal, name) && !sim.Reads(name) })
}
