package sim

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A redis-server decides by its own clock when a key expires, and what is left of its TTL. In a world it must not. So it is
// told instants only, which are those of the world: a millisecond of the server's is a nanosecond of the world's, and the world
// begins at an instant of the server's that its clock does not reach. EXPIRE k 30 becomes PEXPIREAT k with the instant at which
// the key expires in the world. PTTL k becomes what PEXPIRETIME k says less the time that it is in the world; the server does that
// itself, in a script, so that transactions have it right, too. So do the scripts of processes. Commands that have nothing to do
// with time pass as they are.

// epoch is the instant of the server's at which a world begins, in milliseconds: in the year 2109. A script counts in float64, which
// hold every instant of the hundred days after it, but not beyond exact.
const (
	epoch = 1 << 42
	exact = 1 << 53
)

//go:embed redis_time.lua
var worldTime string

// inWorldTime is what a script begins with, on one line, so that lines are counted as its author does.
var inWorldTime = strings.Replace(oneLine(worldTime), "ALLOWED", allowed(), 1) + " "

// allowed is a Lua table of the commands that a script may call.
func allowed() string {
	var names []string
	for name := range commands {
		if !onlyMini[name] && name != "info" && name != nameWait {
			names = append(names, name+"=1")
		}
	}
	slices.Sort(names)
	return "{" + strings.Join(names, ",") + "}"
}

// asOne runs a command as a script.
var asOne = inWorldTime + "return redis.pcall(unpack(ARGV))"

// timed lists the commands that go by the server's clock, or answer in an order that hangs on how it hashes.
var timed = map[string]bool{
	"getex": true, "setex": true, "psetex": true, "expire": true, "pexpire": true, "expireat": true, "pexpireat": true,
	"ttl": true, "pttl": true, "expiretime": true, "pexpiretime": true, "time": true,
	"smembers": true, "keys": true, "sunion": true, "sinter": true, "sdiff": true, "scan": true,
}

// scripts lists the commands that are about scripts.
var scripts = map[string]bool{"eval": true, "evalsha": true, "script": true}

// instead is the command that goes by the time of the world in the place of one that goes by the server's, or nil.
func (r *realRedis) instead(of [][]byte, _ bool) []string {
	name := strings.ToLower(string(of[0]))
	if !timed[name] && (name != "set" || len(of) < 4) && !scripts[name] {
		return nil
	}
	args := stringsOf(of)
	if put, ok := r.expiring(name, args); ok {
		return put
	}
	switch {
	case timed[name], name == "set":
		put := append([]string{"EVAL", asOne, strconv.Itoa(min(1, len(args)-1))}, args[1:min(2, len(args))]...)
		return r.stamp(append(put, args...))
	case name == "eval" && len(args) > 2:
		return r.stamp(append([]string{"EVAL", r.wrap(args[1])}, args[2:]...))
	case name == "evalsha" && len(args) > 2:
		if wrapped, ok := r.wrapped[strings.ToLower(args[1])]; ok {
			return r.stamp(append([]string{"EVALSHA", wrapped}, args[2:]...))
		}
	case name == "script" && len(args) > 2:
		return r.script(args)
	}
	return nil
}

// unitOf has the unit of what is behind each command or option that gives a TTL, or an instant since 1970.
var unitOf = map[string]time.Duration{
	"ex": time.Second, "setex": time.Second, "expire": time.Second, "px": time.Millisecond, "psetex": time.Millisecond, "pexpire": time.Millisecond,
	"exat": time.Second, "expireat": time.Second, "pxat": time.Millisecond, "pexpireat": time.Millisecond,
}

// instant is that of the server's at which a key expires that is given n behind such a word; false if the server is to refuse n, or
// the instant has passed.
func (r *realRedis) instant(word, n string) (string, bool) {
	number, err := strconv.ParseInt(n, 10, 64)
	unit := int64(unitOf[word])
	if err != nil || number <= 0 || number > math.MaxInt64/2/unit {
		return "", false
	}
	left := number * unit
	if strings.HasSuffix(word, "at") {
		left -= r.now().UnixNano()
	}
	return strconv.FormatInt(epoch+int64(r.world.Now())+left, 10), left > 0
}

// expiring puts an instant in the place of the TTL of a command outside of scripts, or says that it has to be done in one.
func (r *realRedis) expiring(name string, args []string) (put []string, ok bool) {
	switch name {
	case "set":
		for i := 3; i < len(args); i++ {
			word := strings.ToLower(args[i])
			if unitOf[word] == 0 {
				continue
			}
			if i+1 == len(args) {
				return nil, true // the server refuses it
			}
			at, ok := r.instant(word, args[i+1])
			return slices.Concat(args[:i], []string{"PXAT", at}, args[i+2:]), ok
		}
		return nil, true
	case "setex", "psetex":
		if len(args) == 4 {
			at, ok := r.instant(name, args[2])
			return []string{"SET", args[1], args[3], "PXAT", at}, ok
		}
	case "expire", "pexpire", "expireat", "pexpireat":
		if len(args) > 2 {
			at, ok := r.instant(name, args[2])
			return append([]string{"PEXPIREAT", args[1], at}, args[3:]...), ok
		}
	}
	return nil, false
}

// script is the command in the place of a SCRIPT.
func (r *realRedis) script(args []string) []string {
	switch strings.ToLower(args[1]) {
	case "load": // its answer names the script as its author does
		if err := r.client.ScriptLoad(bg, r.wrap(args[2])).Err(); err != nil {
			return nil
		}
		return []string{"EVAL", "return ARGV[1]", "0", sha(args[2])}
	case "exists":
		put := append([]string{}, args...)
		for i, s := range put[2:] {
			if wrapped, ok := r.wrapped[strings.ToLower(s)]; ok {
				put[2+i] = wrapped
			}
		}
		return put
	}
	return nil
}

// wrap is a script that goes by the time of the world.
func (r *realRedis) wrap(script string) string {
	first := ""
	if strings.HasPrefix(script, "#!") {
		head, body, _ := strings.Cut(script, "\n")
		first, script = head+"\n", body
	}
	wrapped := first + inWorldTime + script
	r.wrapped[sha(first+script)] = sha(wrapped)
	return wrapped
}

// stamp appends the time of the world, for redis_time.lua.
func (r *realRedis) stamp(args []string) []string {
	at := r.now()
	return append(args, strconv.FormatInt(epoch+int64(r.world.Now()), 10), strconv.FormatInt(at.UnixMilli(), 10), strconv.Itoa(at.Nanosecond()%1e6))
}

func sha(script string) string {
	sum := sha1.Sum([]byte(script)) // by which Redis names scripts
	return hex.EncodeToString(sum[:])
}

// oneLine puts a script without its comments on one line.
func oneLine(script string) string {
	var lines []string
	for line := range strings.Lines(script) {
		line, _, _ = strings.Cut(line, "--")
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, " ")
}
