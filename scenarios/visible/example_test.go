package visible_test

import (
	"fmt"

	"github.com/wavetank-sim/wavetank/scenarios/visible"
)

func ExampleText() {
	fmt.Println(visible.Text("abc \u202edlrow"))
	// Output: abc \u202edlrow
}
