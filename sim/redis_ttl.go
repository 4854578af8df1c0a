package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unitOf maps the options that give a TTL, or an instant since 1970, to the unit of their number.
var unitOf = map[string]time.Duration{"ex": time.Second, "px": time.Millisecond, "exat": time.Second, "pxat": time.Millisecond}

// optionOf maps a command that takes a TTL as its second argument to the option of SET with the same meaning.
var optionOf = map[string]string{
	"setex": "ex", "psetex": "px",
	"expire": "ex", "pexpire": "px", "expireat": "exat", "pexpireat": "pxat",
}

// optionsFrom maps the commands that take such options to the first argument that may be one.
var optionsFrom = map[string]int{"set": 3, "getex": 2}

// ttlAt returns where among a command's arguments a TTL or an instant is, or 0, and the option that gives its
// unit.
func ttlAt[T any](name string, args []T) (option string, at int) {
	if option = optionOf[name]; option != "" && len(args) > 2 {
		return option, 2
	}
	if first := optionsFrom[name]; first > 0 {
		for i := first; i < len(args)-1; i++ {
			if option = strings.ToLower(text(args[i])); unitOf[option] > 0 {
				return option, i + 1
			}
		}
	}
	return "", 0
}

// longestTTL is the longest TTL that a world supports. A [time.Duration] ends at 292 years.
const longestTTL = 100 * 365 * 24 * time.Hour

// tooLong says whether a command gives a TTL that a world does not support.
func tooLong[T any](name string, args []T, w *World) bool {
	option, at := ttlAt(name, args)
	if at == 0 {
		return false
	}
	n, err := strconv.ParseInt(text(args[at]), 10, 64)
	if err != nil { // Redis refuses it
		return false
	}
	most := longestTTL
	if strings.HasSuffix(option, "at") {
		most += time.Duration(w.wall().UnixNano())
	}
	return n == math.MinInt64 || max(n, -n) > int64(most/unitOf[option])
}

// usesTTL says whether a command reads a key's TTL, or changes it depending on its value. EXPIRE does so only
// with an option.
func usesTTL(name string, args []any) bool {
	switch name {
	case "ttl", "pttl", "expiretime", "pexpiretime", "getex", "eval", "evalsha", "rename", "renamenx", "copy":
		return true
	case "expire", "pexpire", "expireat", "pexpireat":
		return len(args) > 3
	case "set":
		return hasOption(args, "keepttl")
	}
	return false
}

// givesTTL says whether a key's TTL counts from now after a command.
func givesTTL(name string, args []any) bool {
	return name == "set" || optionOf[name] != "" || usesTTL(name, args)
}

// hasOption says whether a SET has the option after its key and value.
func hasOption(args []any, option string) bool {
	return slices.ContainsFunc(args[min(3, len(args)):], func(a any) bool { return strings.EqualFold(text(a), option) })
}
