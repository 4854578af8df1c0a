package strictyaml_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

func ExampleKind_Read() {
	type buoy struct {
		Name  string        `yaml:"name,required"`
		Every time.Duration `yaml:"every" min:"1s" max:"1m" doc:"how often it flashes"`
	}
	buoys := strictyaml.Kind{What: "a buoy", Has: "a name"}
	read := func(text string) error {
		b := buoy{Every: 5 * time.Second}
		return buoys.Read("buoy.yaml", []byte(text), &b, func() *strictyaml.Error { return nil })
	}
	fmt.Println(read("name: west\nevery: 10s\n"))
	fmt.Println(read("name: west\nevry: 10s\n"))
	err := read("name: west\nevery: 10\n")
	fmt.Println(err)
	var e *strictyaml.Error
	if errors.As(err, &e) {
		fmt.Println(e.Excerpt())
	}
	// Output:
	// <nil>
	// buoy.yaml:2:1: unknown key "evry" in a buoy (did you mean "every"?); known are name, every
	// buoy.yaml:2:8: every is "10", without a unit; give a duration such as 200ms, 10s or 20m, from 1s to 1m
	//     2 | every: 10
	//                ^
}
