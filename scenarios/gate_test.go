package scenarios

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The gate runs every test of every package: those that it leaves out with the race detector it runs without, and it fails
// where either does.
func TestTheGateRunsEveryTest(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	for _, line := range []string{
		`rest\(\) \{ go list "\$@" \| grep -vE "\$alone"; \}`,
		`go test -race .*-skip "\$plain" .*\$\(rest \./\.\.\.\) >"\$raced" 2>&1 &\nrace=\$!`,
		`go test .*-run "\$plain" .*\$\(having "\$plain"\) \|\| failed=1`,
		`go test .*\$\(go list \./\.\.\. \| grep -E "\$alone"\) \|\| failed=1`,
		`wait "\$race" \|\| failed=1`,
		`if \[\[ \$failed -ne 0 \]\]; then exit 1; fi`,
	} {
		assert.Regexp(t, "(?m)^"+line+"$", string(gate))
	}
}

// The packages that the gate tests without the detector are all that have such a test.
func TestTheGateKnowsWhereItsTestsAre(t *testing.T) {
	gate, err := os.ReadFile("../.ci/run")
	require.NoError(t, err)
	defines := regexp.MustCompile(`(?ms)^(plain\+?='.*?'|having\(\) \{.*?^\})$`).FindAllString(string(gate), -1)
	bash := func(script string) string {
		cmd := exec.Command("bash", "-c", strings.Join(append(defines, script), "\n"))
		cmd.Dir = ".."
		out, err := cmd.Output()
		require.NoError(t, err)
		return strings.TrimSpace(string(out))
	}
	plain := regexp.MustCompile(bash(`printf %s "$plain"`))
	want := map[string]bool{}
	test := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)`)
	require.NoError(t, filepath.WalkDir("..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, name := range test.FindAllStringSubmatch(string(source), -1) {
			if plain.MatchString(name[1]) {
				want[filepath.Dir(strings.TrimPrefix(path, "../"))] = true
			}
		}
		return err
	}))
	var has []string
	for line := range strings.Lines(bash(`having "$plain"`)) {
		has = append(has, strings.TrimPrefix(strings.TrimSpace(line), "./"))
	}
	assert.Subset(t, has, slices.Collect(maps.Keys(want)))
}
