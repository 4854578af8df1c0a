package kernel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/routing"
)

// pairs reads labels, joined by commas.
func pairs(text string) (map[string]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	list := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if _, twice := list[key]; !ok || key == "" || twice {
			return nil, fmt.Errorf("has the entry %q, which is no label, or one that is there already", pair)
		}
		list[key] = value
	}
	return list, nil
}

// fits says whether text is what pattern says, where * is any text; an empty pattern is any text too.
func fits(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	first, rest, starred := strings.Cut(pattern, "*")
	if !starred {
		return text == pattern
	}
	text, ok := strings.CutPrefix(text, first)
	for ok {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(text, part)
		}
		_, text, ok = strings.Cut(text, part)
		rest = more
	}
	return false
}

// checkConstraints refuses what would bind nobody, or bind to nobody.
func checkConstraints(constraints map[string]string) *RuleError {
	for _, key := range slices.Sorted(maps.Keys(constraints)) {
		value := constraints[key]
		switch {
		case !routing.IsHint(key):
			return &RuleError{
				Field: "constraints", Message: fmt.Sprintf("has %q, which binds no job", key), Remedy: "known are " + routing.Hints,
				Word: key, Meant: routing.HintsLike(key),
			}
		case value == "" && !strings.Contains(key, "."):
			return &RuleError{Field: "constraints", Message: fmt.Sprintf("has %q without a value, which binds no job", key), Remedy: "give it one, or take it away"}
		case strings.ContainsAny(value, "*"+wildcards):
			return &RuleError{Field: "constraints", Message: fmt.Sprintf("has the value %q, and a constraint is no pattern", value), Remedy: "give the one value that a worker or pool has"}
		}
	}
	return nil
}

// wildcards mean something in other patterns, and nothing in these.
const wildcards = "[]?"

// checkPatterns refuses what matches less than it seems to.
func checkPatterns(topic, tenant, jobID string) *RuleError {
	return cmp.Or(
		checkPattern("topic", "is", topic, wildcards+">"), // NATS has it in subjects
		checkPattern("tenant", "is", tenant, wildcards),
		checkPattern("job_id", "is", jobID, wildcards),
	)
}

func checkPattern(field, verb, pattern, refused string) *RuleError {
	if i := strings.IndexAny(pattern, refused); i >= 0 {
		return &RuleError{Field: field, Message: fmt.Sprintf("%s %q, where %c means nothing", verb, pattern, pattern[i]), Remedy: "only * means something in a pattern: any text; write that, or a rule for each"}
	}
	return nil
}
