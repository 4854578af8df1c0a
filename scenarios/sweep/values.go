package sweep

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"time"
)

// listing is a parsed axis text. Its ranges are counted, but not yet expanded.
type listing []item

// item is a value or a range.
type item struct {
	text string // for a value
	low  *big.Rat
	step *big.Rat
	unit string // for a range, such as "s"
	size int    // the number of values
}

// most is the limit for the number of values of an axis; beyond it they are not counted.
const most = 1 << 40

// list parses "0s,5s,15s", "1..10", "0.1..0.5/0.1", or several of these, separated by commas.
func list(text string) (listing, error) {
	var all listing
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			return nil, fmt.Errorf("has an empty value; write values with single commas between them, such as 1,2,5 or 1..10")
		}
		it, err := itemOf(part)
		if err != nil {
			return nil, err
		}
		all = append(all, it)
	}
	return all, nil
}

func itemOf(text string) (item, error) {
	low, rest, ranged := strings.Cut(text, "..")
	if !ranged {
		return item{text: text, size: 1}, nil
	}
	high, step, stepped := strings.Cut(rest, "/")
	a, b := quantityOf(low), quantityOf(high)
	if a == nil || b == nil || (a.unit == "") != (b.unit == "") {
		return item{}, fmt.Errorf("has the range %q, whose ends are not two numbers or two durations; write 1..10, 0.1..0.5/0.1 or 10s..60s/10s", text)
	}
	by := &quantity{amount: big.NewRat(1, 1)}
	switch {
	case stepped:
		by = quantityOf(step)
		if by == nil || by.amount.Sign() <= 0 || (a.unit == "") != (by.unit == "") {
			return item{}, fmt.Errorf("has the range %q, whose step is no amount above zero of the same kind; write 0.1..0.5/0.1 or 10s..60s/10s", text)
		}
	case a.unit != "" || !a.amount.IsInt() || !b.amount.IsInt():
		such := "10s"
		if a.unit == "" {
			such = "0.1"
		}
		return item{}, fmt.Errorf("has the range %q without a step; write one, such as %s/%s", text, text, such)
	}
	span := new(big.Rat).Sub(b.base(), a.base())
	if span.Sign() < 0 {
		return item{}, fmt.Errorf("has the range %q, which ends before it begins; write %s..%s", text, strings.TrimSpace(high), strings.TrimSpace(low))
	}
	steps := new(big.Rat).Quo(span, by.base())
	whole := new(big.Int).Quo(steps.Num(), steps.Denom())
	if !whole.IsInt64() || whole.Int64() >= most {
		return item{}, fmt.Errorf("has the range %q, which has more values than can be counted; take fewer, or wider steps", text)
	}
	return item{low: a.base(), step: by.base(), unit: by.unit, size: int(whole.Int64()) + 1}, nil
}

// size is the number of values in the listing.
func (l listing) size() (n int) {
	for _, it := range l {
		n += it.size
	}
	return n
}

// values expands the listing.
func (l listing) values() []string {
	out := make([]string, 0, l.size())
	for _, it := range l {
		if it.low == nil {
			out = append(out, it.text)
			continue
		}
		for i := range it.size {
			v := new(big.Rat).Mul(it.step, big.NewRat(int64(i), 1))
			out = append(out, decimal(v.Add(v, it.low), it.unit))
		}
	}
	return out
}

// quantity is a number, or a duration in one unit.
type quantity struct {
	amount *big.Rat
	unit   string
}

var quantityShape = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)(ns|us|µs|ms|s|m|h)?$`)

// quantityOf parses a quantity, or returns nil.
func quantityOf(text string) *quantity {
	const lengthMax = 32 // no setting has a longer value
	m := quantityShape.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || len(text) > lengthMax {
		return nil
	}
	amount, ok := new(big.Rat).SetString(m[1])
	if !ok {
		return nil
	}
	return &quantity{amount, m[2]}
}

// base is the amount, in nanoseconds for a duration.
func (q *quantity) base() *big.Rat { return new(big.Rat).Mul(q.amount, nanoseconds(q.unit)) }

func nanoseconds(unit string) *big.Rat {
	if unit == "" {
		return big.NewRat(1, 1)
	}
	d, err := time.ParseDuration("1" + unit)
	if err != nil {
		panic(err) // quantityShape allows only these units
	}
	return big.NewRat(int64(d), 1)
}

// decimal writes v exactly, in the unit; for a duration, v is in nanoseconds. Both ends and the step of a
// range are decimals, so every value between them is one.
func decimal(v *big.Rat, unit string) string {
	v = new(big.Rat).Quo(v, nanoseconds(unit))
	if digits, exact := v.FloatPrec(); exact {
		return v.FloatString(digits) + unit
	}
	return v.Mul(v, nanoseconds(unit)).FloatString(0) + "ns" // for instance a third of an hour, in hours
}

// same returns equal texts for equal values: 60s and 1m, 0.10 and 0.1.
func same(value string) string {
	if d, err := time.ParseDuration(value); err == nil && d != 0 {
		return d.String()
	}
	if q := quantityOf(value); q != nil {
		return q.amount.RatString() // a duration of 0, in any unit
	}
	return value
}
