package campaign

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

func Example() {
	temp, err := os.MkdirTemp("", "campaign-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(temp)
	dir := filepath.Join(temp, "nightly")
	spec := Spec{
		Version: SpecVersion, Name: "nightly", Seed: 1, Runs: 12,
		Drawn: &Drawn{Presets: []string{"documented"}, Sets: []string{"workload.jobs=1"}},
	}
	if err := Create(dir, spec); err != nil {
		fmt.Println(err)
		return
	}
	res, err := Run(context.Background(), dir, Options{Workers: 2, Command: worker("")})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d findings in %d runs: at most %.0f %% of plans break a promise\n", len(res.Findings), res.Runs, 100*res.Bound)
	// Output: 0 findings in 12 runs: at most 25 % of plans break a promise
}
