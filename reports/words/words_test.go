package words

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/wavetank-sim/wavetank/scenarios"
)

// An instant and how long something lasts are written in two ways, so that nobody takes one for the other.
func TestAnInstantIsWrittenAsOnTheAxis(t *testing.T) {
	at := time.Minute + 13*time.Second + 91*time.Millisecond
	assert.Equal(t, []string{"1m13.091s", "1 min 13 s"}, []string{Instant(at), Duration(at)})
	assert.Equal(t, "1 min 13 s", BlindFor(&scenarios.BlindWindow{Opened: time.Second, Closed: time.Second + at}))
	assert.Equal(t, "open since 1m13.091s", BlindFor(&scenarios.BlindWindow{Opened: at, Open: true}))
}

// On one axis all instants have the same number of decimals, which is enough for neighbours to differ.
func TestInstantsOfOneAxis(t *testing.T) {
	s, ms, us := time.Second, time.Millisecond, time.Microsecond
	for _, c := range []struct {
		at   []time.Duration
		want string
	}{
		{nil, ""},
		{[]time.Duration{0, s, 2 * s, 61 * s, time.Hour + s}, "0ms 1s 2s 1m1s 1h0m1s"},
		{[]time.Duration{2619 * ms, 2620 * ms, 4 * s}, "2.619s 2.620s 4.000s"},
		{[]time.Duration{2500 * ms, 2500*ms + 200*us, 3 * s}, "2.5000s 2.5002s 3.0000s"},
		{[]time.Duration{2016110 * us, 2016240 * us, 2016930 * us}, "2.0161s 2.0162s 2.0169s"},
		{[]time.Duration{250 * ms, 250*ms + 40*us}, "250.00ms 250.04ms"},
		{[]time.Duration{250 * ms, 1250 * ms}, "250ms 1.25s"},
		{[]time.Duration{59*s + 999999*us + 999, 60 * s}, "59.999999999s 1m0.000000000s"},
		{[]time.Duration{s, s}, "1.000000000s 1.000000000s"},
	} {
		assert.Equal(t, c.want, strings.Join(Instants(c.at), " "))
	}
}

func TestDurationsAreSaidInThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ns", 1: "1 ns", 999: "999 ns", 1_500: "1.5 µs", 999_499: "999 µs", 999_500: "1 ms", 12_345_678: "12.3 ms",
		999_600 * time.Microsecond: "1 s", 3900 * time.Millisecond: "3.9 s", 59_940 * time.Millisecond: "59.9 s",
		59_960 * time.Millisecond: "1 min", 605 * time.Second: "10 min 5 s", 59*time.Minute + 59*time.Second + 600*time.Millisecond: "1 h",
		90 * time.Minute: "1 h 30 min", 47*time.Hour + 59*time.Minute: "2 d", 720 * time.Hour: "30 d", -2 * time.Second: "-2 s",
	} {
		assert.Equal(t, want, Duration(d), "%d ns", d)
	}
}

func TestNumbersAreSaid(t *testing.T) {
	assert.Equal(t, []string{"0", "999", "1,000", "1,234,567"}, []string{Count(0), Count(999), Count(1000), Count(1234567)})
	assert.Equal(t, "1 step", Counted(1, "step"))
	assert.Equal(t, "2 retries", Counted(2, "retry", "retries"))
	assert.Equal(t, []string{"1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th"},
		[]string{Ordinal(1), Ordinal(2), Ordinal(3), Ordinal(4), Ordinal(11), Ordinal(12), Ordinal(21), Ordinal(112)})
}

func TestASettingEndsALineAtItsJoints(t *testing.T) {
	assert.Equal(t, []string{"engine.", "read_", "error=", "fail-open"}, Pieces("engine.read_error=fail-open"))
	assert.Equal(t, []string{"größe=", "1.", "5"}, Pieces("größe=1.5"))
	assert.Equal(t, []string{""}, Pieces(""))
}
