package sim

import (
	"crypto/sha1"
	_ "embed"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// A redis-server uses its own clock to expire keys and to compute the rest of a TTL. In a world it must not.
// So the world gives it only instants, in the world's time: a millisecond of the server's stands for a
// nanosecond of the world's, and the world begins at an instant that the server's clock does not reach.
//
// EXPIRE k 30 becomes PEXPIREAT k with the instant at which the key expires in the world
// ([realRedis.expiring]; redis_time.lua does the same in scripts). PTTL k becomes PEXPIRETIME k minus the
// world's present time. The server subtracts in a script, so that the answer is right in transactions, too.
// Scripts of processes are rewritten likewise. Commands that do not depend on time pass unchanged.

// epoch is the server's instant at which a world begins, in milliseconds: in the year 2109. A script reads
// instants as float64, which is exact up to 2^53: for a hundred days of the world's time.
const epoch = 1 << 42

//go:embed redis_time.lua
var worldTime string

// inWorldTime is the prefix of a script. It has no line break, so the script's line numbers stay as they are.
var inWorldTime = strings.NewReplacer("ALLOWED", allowed(), "LONGEST", strconv.FormatInt(longestTTL.Milliseconds(), 10)).Replace(oneLine(worldTime)) + " "

// allowed is a Lua table of the commands that a script may call.
func allowed() string {
	var names []string
	for name := range commands {
		if !onlyMini[name] && name != "info" && name != "copy" && name != nameWait {
			names = append(names, name+"=1")
		}
	}
	slices.Sort(names)
	return "{" + strings.Join(names, ",") + "}"
}

// asOne is a script that runs one command.
var asOne = inWorldTime + "return redis.pcall(unpack(ARGV))"

// timed lists the commands that answer by the server's clock, or in an order that depends on its hashing.
var timed = setOf(`ttl pttl expiretime pexpiretime time smembers keys sunion sinter sdiff scan xadd`)

// scripts lists the commands that handle scripts.
var scripts = setOf(`eval eval_ro evalsha evalsha_ro script`)

// instead returns the command that uses the world's time in place of one that uses the server's, or nil.
func (r *realRedis) instead(of [][]byte, _ bool) []string {
	name := strings.ToLower(string(of[0]))
	if !timed[name] && optionOf[name] == "" && (optionsFrom[name] == 0 || len(of) <= optionsFrom[name]) && !scripts[name] {
		return nil
	}
	args := stringsOf(of)
	switch {
	case timed[name]:
		put := append([]string{"EVAL", asOne, strconv.Itoa(min(1, len(args)-1))}, args[1:min(2, len(args))]...)
		return r.stamp(append(put, args...))
	case strings.HasPrefix(name, "eval") && !hasItsKeys(args): // the server refuses it
	case strings.HasPrefix(name, "evalsha"):
		if wrapped, ok := r.wrapped[strings.ToLower(args[1])]; ok {
			return r.stamp(append([]string{name, wrapped}, args[2:]...))
		}
	case strings.HasPrefix(name, "eval"):
		return r.stamp(append([]string{name, r.wrap(args[1])}, args[2:]...))
	case name == "script" && len(args) > 2:
		return r.script(args)
	}
	return r.expiring(name, args)
}

// hasItsKeys says whether a script has at least as many keys as its arguments claim.
func hasItsKeys(args []string) bool {
	if len(args) < 3 {
		return false
	}
	keys, err := strconv.Atoi(args[2])
	return err == nil && keys >= 0 && keys <= len(args)-3
}

// expiring replaces a command's TTL by an instant; it returns nil if there is none to replace.
func (r *realRedis) expiring(name string, args []string) []string {
	option, i := ttlAt(name, args)
	if i == 0 {
		return nil
	}
	n, err := strconv.ParseInt(args[i], 10, 64)
	expires := strings.Contains(name, "expire")
	if err != nil || n <= 0 && !expires || strings.HasSuffix(name, "setex") && len(args) != 4 { // the server refuses it
		return nil
	}
	switch at := []string{"PXAT", r.instant(option, n)}; {
	case expires:
		return slices.Concat([]string{"PEXPIREAT", args[1]}, at[1:], args[3:])
	case i == 2: // SETEX
		return append([]string{"SET", args[1], args[3]}, at...)
	default:
		return slices.Concat(args[:i-1], at, args[i+1:])
	}
}

// instant returns the server's instant at which a key expires, given an option and its number n. An instant
// that has passed in the world is before the server's own time, too.
func (r *realRedis) instant(option string, n int64) string {
	left := n * int64(unitOf[option])
	if strings.HasSuffix(option, "at") {
		left -= r.now().UnixNano()
	}
	if left <= 0 {
		return "1"
	}
	return strconv.FormatInt(epoch+int64(r.world.Now())+left, 10)
}

// script returns the command to send in place of a SCRIPT.
func (r *realRedis) script(args []string) []string {
	switch strings.ToLower(args[1]) {
	case "load": // running a script loads it, too; the argument keeps the script from running, and the answer is the hash of the author's script
		return []string{"EVAL", r.wrap(args[2]), "0", sha(args[2]), "load"}
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

// wrap returns the script in a form that uses the world's time.
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

// stamp appends the world's time, for redis_time.lua.
func (r *realRedis) stamp(args []string) []string {
	at := r.now()
	return append(args, strconv.FormatInt(epoch+int64(r.world.Now()), 10), strconv.FormatInt(at.UnixMilli(), 10), strconv.Itoa(at.Nanosecond()%1e6))
}

func sha(script string) string {
	sum := sha1.Sum([]byte(script)) // Redis names scripts by it
	return hex.EncodeToString(sum[:])
}

// oneLine puts a script on one line, without its comments.
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
