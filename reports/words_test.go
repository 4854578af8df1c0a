package reports

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestDurationsAreSaidInThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 1: "1 ns", 999: "999 ns", 1_500: "1.5 µs", 999_499: "999 µs", 999_500: "1 ms", 12_345_678: "12.3 ms",
		999_600 * time.Microsecond: "1 s", 3900 * time.Millisecond: "3.9 s", 59_940 * time.Millisecond: "59.9 s",
		59_960 * time.Millisecond: "1 min", 605 * time.Second: "10 min 5 s", 59*time.Minute + 59*time.Second + 600*time.Millisecond: "1 h",
		90 * time.Minute: "1 h 30 min", 720 * time.Hour: "720 h", -2 * time.Second: "-2 s",
	} {
		assert.Equal(t, want, duration(d), "%d ns", d)
	}
	assert.Equal(t, "3725.000042", clock(3725*time.Second+42*time.Microsecond))
}

func TestNumbersAreSaid(t *testing.T) {
	assert.Equal(t, []string{"0", "999", "1,000", "1,234,567"}, []string{count(0), count(999), count(1000), count(1234567)})
	assert.Equal(t, "1 step", counted(1, "step"))
	assert.Equal(t, "2 retries", counted(2, "retry", "retries"))
	assert.Equal(t, []string{"1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"},
		[]string{ordinal(1), ordinal(2), ordinal(3), ordinal(4), ordinal(11), ordinal(12), ordinal(21), ordinal(112)})
	assert.Equal(t, []string{"", "a", "a and b", "a, b and c"}, []string{list(nil), list([]string{"a"}), list([]string{"a", "b"}), list([]string{"a", "b", "c"})})
}
