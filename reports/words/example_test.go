package words_test

import (
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/reports/words"
)

func Example() {
	fmt.Println(words.Duration(605*time.Second), words.Counted(1200, "step"), words.Number(0.025))
	// Output: 10 min 5 s 1,200 steps 0.025
}
