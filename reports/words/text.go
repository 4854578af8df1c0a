package words

// NoRecord is the state of a job whose record a failover took.
const NoRecord = "no record"

// Cut shortens s to that many runes.
func Cut(s string, runesMax int) string {
	runes := []rune(s)
	if len(runes) <= runesMax {
		return s
	}
	return string(runes[:runesMax-1]) + "…"
}

// Capped returns the first limit items, and how many there are beyond.
func Capped[T any](items []T, limit int) ([]T, int) {
	if len(items) <= limit {
		return items, 0
	}
	return items[:limit], len(items) - limit
}

// LowerFirst is s in the middle of a sentence.
func LowerFirst(s string) string {
	if len(s) > 1 && s[0] >= 'A' && s[0] <= 'Z' && s[1] >= 'a' && s[1] <= 'z' {
		return string(s[0]+'a'-'A') + s[1:]
	}
	return s
}
