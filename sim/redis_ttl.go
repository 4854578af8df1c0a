package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unitOf has the unit of what is behind each option that gives a TTL, or an instant since 1970.
var unitOf = map[string]time.Duration{"ex": time.Second, "px": time.Millisecond, "exat": time.Second, "pxat": time.Millisecond}

// optionOf has the option of SET that does what a command does with its second argument.
var optionOf = map[string]string{
	"setex": "ex", "psetex": "px",
	"expire": "ex", "pexpire": "px", "expireat": "exat", "pexpireat": "pxat",
}

// optionsFrom has the first argument that may be such an option, of the commands that take one.
var optionsFrom = map[string]int{"set": 3, "getex": 2}

// ttlAt says where among a command's arguments a TTL or an instant is, and which option says its unit; 0 if there is none.
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

// longestTTL is the longest that a world can count to. A [time.Duration] ends at 292 years.
const longestTTL = 100 * 365 * 24 * time.Hour

// tooLong says whether a command gives a TTL that a world cannot count to.
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

// usesTTL tells the commands that read a key's TTL, or change it by what it was. EXPIRE is one of them only with an
// option.
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

// givesTTL tells the commands after which a key's TTL counts from now.
func givesTTL(name string, args []any) bool {
	return name == "set" || optionOf[name] != "" || usesTTL(name, args)
}

// hasOption says whether a SET carries the option behind its key and value.
func hasOption(args []any, option string) bool {
	return slices.ContainsFunc(args[min(3, len(args)):], func(a any) bool { return strings.EqualFold(text(a), option) })
}
