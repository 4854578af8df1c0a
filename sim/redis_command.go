package sim

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// keysAt says which of a command's arguments are its keys.
type keysAt int

const (
	noKeys              keysAt = iota // it has none
	anyKeys                           // it is about all keys
	firstKey                          // the first argument
	firstTwoKeys                      // the first two
	eachKey                           // all of them
	everyOtherKey                     // the first, the third, and so on
	countedKeys                       // the first gives their number, and they follow
	firstAndCountedKeys               // the first, and those after the second, which is their number
	declaredKeys                      // of a script: those after the second, which is their number
	keysFromSecond                    // all but the first argument
	streamKeys                        // the first half of the arguments after the word STREAMS
)

// effect says what a command may change.
type effect int

const (
	reads       effect = 1 + iota // nothing
	writesFirst                   // the first of its keys
	writesKeys                    // all of its keys
	writesEach                    // fields of its key, named by all arguments after it
	writesPairs                   // fields of its key, named by every other argument after it
	writesZADD                    // fields that a ZADD names
)

// command describes a Redis command to a world.
type command struct {
	keys keysAt
	does effect
}

// commands has the commands that a world runs. A world refuses all others: commands that block in the server,
// reach beyond this world, leave database 0, give a TTL to part of a key, change what the world does not read
// back, or whose answer depends on the server's clock or on its hashing.
var commands = table(map[command]string{
	{noKeys, reads}:  `ping echo time info script wait multi exec`,
	{anyKeys, reads}: `keys scan dbsize`,
	{firstKey, reads}: `get getrange strlen getbit bitcount bitpos type ttl pttl expiretime pexpiretime
		hget hmget hgetall hkeys hvals hlen hexists hstrlen hscan hrandfield llen lrange lindex lpos
		smembers sismember smismember scard srandmember sscan zscore zmscore zcard zcount zlexcount zrank zrevrank
		zrange zrevrange zrangebyscore zrevrangebyscore zrangebylex zrevrangebylex zrandmember zscan geopos geodist geohash geosearch
		bitfield_ro xlen xrange xrevrange`,
	{firstTwoKeys, reads}: `lcs`,
	{streamKeys, reads}:   `xread`,
	{declaredKeys, reads}: `eval_ro evalsha_ro`,
	{eachKey, reads}:      `mget exists touch watch sunion sinter sdiff`,
	{countedKeys, reads}:  `sintercard zinter zunion zdiff`,
	{firstKey, writesFirst}: `set setnx setex psetex getset getdel getex append setrange setbit bitfield
		incr incrby incrbyfloat decr decrby expire pexpire expireat pexpireat persist
		lpush rpush lpushx rpushx lpop rpop lset linsert lrem ltrim sadd spop
		zincrby zpopmin zpopmax zremrangebyscore zremrangebyrank zremrangebylex geoadd pfadd xadd xdel xtrim`,
	{firstTwoKeys, writesFirst}:        `zrangestore geosearchstore`,
	{eachKey, writesFirst}:             `sunionstore sinterstore sdiffstore pfmerge`,
	{keysFromSecond, writesFirst}:      `bitop`,
	{firstAndCountedKeys, writesFirst}: `zunionstore zinterstore zdiffstore`,
	{firstTwoKeys, writesKeys}:         `rename renamenx copy rpoplpush lmove smove`,
	{countedKeys, writesKeys}:          `lmpop zmpop`,
	{eachKey, writesKeys}:              `del unlink pfcount`,
	{everyOtherKey, writesKeys}:        `mset msetnx`,
	{declaredKeys, writesKeys}:         `eval evalsha`,
	{firstKey, writesEach}:             `hdel zrem srem`,
	{firstKey, writesPairs}:            `hset hmset hsetnx hincrby hincrbyfloat`,
	{firstKey, writesZADD}:             `zadd`,
})

// onlyMini has the commands that run on miniredis alone: a redis-server picks by chance, or answers in an
// order that depends on its hashing, and neither depends on the seed.
var onlyMini = setOf(`spop srandmember hrandfield zrandmember sscan zscan`)

// onlyServer has the commands that run on a redis-server alone: miniredis leaves an empty key behind, counts
// them as a write when they change nothing, stores values of another type, or does not know them.
var onlyServer = setOf(`sunionstore sinterstore sdiffstore zunionstore zinterstore zdiffstore zrangestore zdiff geohash geosearchstore
	bitfield bitfield_ro bitop copy lcs lmpop zmpop eval_ro evalsha_ro pfadd pfcount pfmerge
	xadd xdel xtrim xlen xrange xrevrange xread`)

func table(names map[command]string) map[string]command {
	commands := map[string]command{}
	for c, names := range names {
		for name := range setOf(names) {
			commands[name] = c
		}
	}
	return commands
}

func setOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// Reads says whether command is a Redis command that a world runs and that changes nothing.
func Reads(command string) bool { return commands[command].does == reads }

// ErrUnknownCommand is returned for a Redis command that a world cannot run: one that blocks in the server,
// reaches beyond this world, leaves database 0, changes what the world could not read back, or answers by the
// server's own clock or chance.
var ErrUnknownCommand = errors.New("sim: a world cannot run this Redis command")

// nameWait is the command that waits for replicas. It must follow a write in one pipeline, since it counts
// the writes of its own connection. A world's Redis has one replica, which by then has everything that was
// written, so a failover does not lose it.
const nameWait = "wait"

// runs returns an error if the world does not run the i-th command of an operation.
func (s *redisServer) runs(operation string, cmds []redis.Cmder, i int) error {
	name, args := cmds[i].Name(), cmds[i].Args()
	word := func() string { // the first argument
		if len(args) < 2 {
			return ""
		}
		return strings.ToLower(text(args[1]))
	}
	mini, why := s.world.cfg.RedisServer == "", ""
	switch {
	case commands[name].does == 0:
	case onlyServer[name] && mini:
		why = ", over miniredis"
	case onlyMini[name] && !mini:
		why = ", over a redis-server"
	case name == nameWait && (i == 0 || operation != namePipeline):
		why = ", but behind a write in one pipeline"
	case (name == NameMulti || name == "exec") && (operation != NameMulti || len(cmds) == 1):
		why = ", but by TxPipeline"
	case name == "info" && word() != "replication":
		why = ", but of replication"
	case name == "copy" && slices.ContainsFunc(args, func(arg any) bool { return strings.EqualFold(text(arg), "db") }):
		why = " to another database"
	case name == "xread" && slices.ContainsFunc(args, func(arg any) bool { return strings.EqualFold(text(arg), "block") }):
		why = " that blocks"
	case name == "script" && !scriptWords[word()]:
		why = " " + word()
	case tooLong(name, args, s.world):
		why = " with a TTL of more than a hundred years"
	case name == nameWait && (len(args) != 3 || word() != "0" && word() != "1"):
		why = ", but for one replica, which is all there are"
	case scripts[name] && unruly.MatchString(scriptIn(name, word(), args)):
		why = " with math.random, which does not hang on the seed, or a way round what a world lets a script call (_G, loadstring)"
	default:
		return nil
	}
	return fmt.Errorf("%w: %s%s", ErrUnknownCommand, name, why)
}

// unruly matches what a world cannot allow in a script.
var unruly = regexp.MustCompile(`math\s*[.\[]\W*random|\b(_G|loadstring|load|getfenv|setfenv)\b`)

// scriptWords are the subcommands of SCRIPT that a world runs.
var scriptWords = setOf("load exists flush")

// scriptIn is the text of the script that a command carries, or empty.
func scriptIn(name, word string, args []any) string {
	switch {
	case (name == "eval" || name == "eval_ro") && len(args) > 1:
		return text(args[1])
	case name == "script" && word == "load" && len(args) > 2:
		return text(args[2])
	}
	return ""
}

// keysOf lists the keys of a command.
func keysOf[T any](name string, args []T) (keys []T) {
	behind := func(i int) []T { // the arguments after the i-th, which is their number
		if len(args) <= i {
			return nil
		}
		n, _ := strconv.Atoi(text(args[i]))
		return args[i+1 : i+1+max(0, min(n, len(args)-i-1))]
	}
	if len(args) < 2 {
		return nil
	}
	switch commands[name].keys {
	case firstKey:
		return args[1:2]
	case firstTwoKeys:
		return args[1:min(3, len(args))]
	case eachKey:
		return args[1:]
	case everyOtherKey:
		for i := 1; i < len(args); i += 2 {
			keys = append(keys, args[i])
		}
	case countedKeys:
		return behind(1)
	case firstAndCountedKeys:
		return append(args[1:2:2], behind(2)...)
	case declaredKeys:
		return behind(2)
	case keysFromSecond:
		return args[min(2, len(args)):]
	case streamKeys:
		i := 1 + slices.IndexFunc(args, func(arg T) bool { return strings.EqualFold(text(arg), "streams") })
		return args[i : i+(len(args)-i)/2]
	}
	return keys
}
