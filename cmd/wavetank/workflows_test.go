package main

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

const workflows = "../../.github/workflows"

// workflow is what these tests look at of one.
type workflow struct {
	Permissions map[string]string `json:"permissions"`
	Jobs        map[string]struct {
		Needs       any               `json:"needs"` // one, or a list
		Timeout     int               `json:"timeout-minutes"`
		Permissions map[string]string `json:"permissions"`
		Steps       []struct {
			Name string `json:"name"`
			Uses string `json:"uses"`
			Run  string `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

func readWorkflow(t *testing.T, name string) (w workflow) {
	data, err := os.ReadFile(filepath.Join(workflows, name))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &w))
	require.NotEmpty(t, w.Jobs)
	return w
}

func (w *workflow) needs(job string) (list []string) {
	switch needs := w.Jobs[job].Needs.(type) {
	case string:
		list = []string{needs}
	case []any:
		for _, name := range needs {
			list = append(list, name.(string))
		}
	}
	return list
}

// way is how long the longest way through a job takes, with those that it needs.
func (w *workflow) way(job string, of func(job string) int) int {
	before := 0
	for _, name := range w.needs(job) {
		before = max(before, w.way(name, of))
	}
	return before + of(job)
}

// The minutes that the steps of a night say add up to what its head says, each job has room, and all of it is over in two hours.
func TestTheMinutesOfANightAddUp(t *testing.T) {
	w := readWorkflow(t, "nightly.yml")
	said := regexp.MustCompile(`\((\d+) min\)$`)
	takes := func(job string) (minutes int) {
		for _, step := range w.Jobs[job].Steps {
			if m := said.FindStringSubmatch(step.Name); m != nil {
				n, _ := strconv.Atoi(m[1])
				minutes += n
			}
		}
		return minutes
	}
	longest, limit := 0, 0
	for name, job := range w.Jobs {
		assert.NotZero(t, takes(name), name)
		assert.GreaterOrEqual(t, 3*job.Timeout, 4*takes(name), "%s takes %d min", name, takes(name))
		longest = max(longest, w.way(name, takes))
		limit = max(limit, w.way(name, func(job string) int { return w.Jobs[job].Timeout }))
	}
	assert.LessOrEqual(t, limit, 120)
	text, err := os.ReadFile(filepath.Join(workflows, "nightly.yml"))
	require.NoError(t, err)
	assert.Contains(t, string(text), fmt.Sprintf("The longest way through takes %d minutes, and is ended after %d.", longest, limit))
}

// Only jobs that write to GitHub may, and only what they write.
func TestWorkflowsMayDoNoMoreThanTheyDo(t *testing.T) {
	for name, writes := range map[string]map[string][]string{
		"ci.yml": {}, "image.yml": {"image": {"packages"}}, "nightly.yml": {"night": {"contents", "issues", "pull-requests"}},
	} {
		w := readWorkflow(t, name)
		assert.Equal(t, map[string]string{"contents": "read"}, w.Permissions, name)
		for job, j := range w.Jobs {
			var may []string
			for what, how := range j.Permissions {
				if how == "write" {
					may = append(may, what)
				}
			}
			slices.Sort(may)
			assert.Equal(t, writes[job], may, "%s, %s", name, job)
		}
	}
}

// A test that a workflow runs is where it says: go test passes where there is none of that name.
func TestWorkflowsRunTestsThatThereAre(t *testing.T) {
	command := regexp.MustCompile(`go test (\./\S+) -run '?(Test\w+)\$?'?(?: -([\w.]+)[= ])?`)
	found := 0
	for _, job := range readWorkflow(t, "nightly.yml").Jobs {
		for _, step := range job.Steps {
			if !strings.Contains(step.Run, "go test ") {
				continue
			}
			m := command.FindStringSubmatch(step.Run)
			require.NotNil(t, m, step.Run)
			found++
			files, err := filepath.Glob(filepath.Join("../..", m[1], "*_test.go"))
			require.NoError(t, err)
			var sources strings.Builder
			for _, file := range files {
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				sources.Write(data)
			}
			assert.Regexp(t, `func `+m[2]+`\w*\(t \*testing\.T\)`, sources.String(), "%s has no %s", m[1], m[2])
			if m[3] != "timeout" {
				assert.Contains(t, sources.String(), strconv.Quote(m[3]), "%s has no flag -%s", m[1], m[3])
			}
		}
	}
	assert.Equal(t, 4, found)
}

// The night runs every fuzz target that there is.
func TestTheNightRunsEveryFuzzTarget(t *testing.T) {
	target := regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	var want []string
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range target.FindAllStringSubmatch(string(data), -1) {
			want = append(want, fmt.Sprintf("go test -run ^$ -fuzz ^%s$ -fuzztime 7s -fuzzminimizetime 10x ./%s", m[1], filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, "../../")))))
		}
		return err
	}))
	require.GreaterOrEqual(t, len(want), 5)
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "go"), []byte("#!/bin/sh\necho go \"$@\" >> "+log+"\n"), 0o755))
	make := exec.Command("make", "fuzzers", "FUZZTIME=7s", "GO="+filepath.Join(bin, "go"))
	make.Dir = "../.."
	out, err := make.CombinedOutput()
	require.NoError(t, err, "%s", out)
	ran, err := os.ReadFile(log)
	require.NoError(t, err)
	assert.ElementsMatch(t, want, strings.Split(strings.TrimSpace(string(ran)), "\n"))
	var steps strings.Builder
	for _, step := range readWorkflow(t, "nightly.yml").Jobs["tests"].Steps {
		steps.WriteString(step.Run + "\n")
	}
	assert.Contains(t, steps.String(), "make fuzzers")
}

// nightStep runs the script of a night's step in dir, with a gh that answers by a script of the test and notes what it is asked.
func nightStep(t *testing.T, name, dir, answers string, env ...string) (asked []string) {
	script := ""
	for _, step := range readWorkflow(t, "nightly.yml").Jobs["night"].Steps {
		if step.Name == name {
			script = step.Run
		}
	}
	require.NotEmpty(t, script, name)
	bin := t.TempDir()
	log := filepath.Join(bin, "log")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "gh"), []byte("#!/bin/sh\necho \"$@\" >> "+log+"\n"+answers), 0o755))
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), env...), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	said, err := os.ReadFile(log)
	require.NoError(t, err)
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}

// needs leaves the test out where a program is missing.
func needs(t *testing.T, programs ...string) {
	for _, program := range programs {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s", program)
		}
	}
}

// A new finding has an issue, once; what is back or gone is said where its issue is.
func TestTheNightTellsGitHub(t *testing.T) {
	needs(t, "bash")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"new/a-11111111.md": "# a-11111111: late publish, \"$(date)\"\n\nHow a breaks.\n", "new/known-22222222.md": "# known-22222222: x\n\nText.\n",
		"back/b-33333333.md": "# b-33333333: y\n\nIt is back.\n", "resolved/c-44444444.md": "# c-44444444: z\n\nGone.\n", "resolved/never-55555555.md": "# never-55555555: z\n\nGone.\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "issues", filepath.Dir(name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "issues", name), []byte(text), 0o644))
	}
	asked := nightStep(t, "issues", dir, `
case "$*" in
  *"issue list"*known-22222222*) echo 2 ;;
  *"issue list"*b-33333333*) echo 3 ;;
  *"issue list"*c-44444444*) echo 4 ;;
  "issue create"*|"issue comment"*) cat body.md >> bodies ;;
esac`)
	var did []string
	for _, line := range asked {
		if !strings.HasPrefix(line, "issue list") && !strings.HasPrefix(line, "label create finding") {
			did = append(did, line)
		}
	}
	assert.Equal(t, []string{
		`issue create --title a-11111111: late publish, "$(date)" --label finding --body-file body.md`,
		"issue reopen 3", "issue comment 3 --body-file body.md",
		"issue comment 4 --body-file body.md", "issue close 4",
	}, did)
	bodies, err := os.ReadFile(filepath.Join(dir, "bodies"))
	require.NoError(t, err)
	assert.Equal(t, "How a breaks.\nIt is back.\nGone.\n", string(bodies))
}

// The ledger's changes come as one pull request, to which each night adds until it is merged.
func TestTheNightProposesTheLedger(t *testing.T) {
	needs(t, "bash", "git")
	dir := t.TempDir()
	git := func(in string, args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", filepath.Join(dir, in), "-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("", "init", "-q", "--bare", "origin")
	night := func(in, open string, adds string) []string {
		git("", "clone", "-q", "origin", in)
		if in == "first" {
			git(in, "commit", "-q", "--allow-empty", "-m", "main")
			git(in, "push", "-q", "origin", "HEAD:main")
			git(in, "switch", "-q", "-C", "main")
		} else {
			git(in, "switch", "-q", "main")
		}
		ledger := filepath.Join(dir, in, "scenarios/ledger")
		asked := nightStep(t, "the ledger as the last night left it", filepath.Join(dir, in), "echo "+open)
		require.NoError(t, os.MkdirAll(filepath.Join(ledger, "findings"), 0o755))
		if adds != "" {
			require.NoError(t, os.WriteFile(filepath.Join(ledger, "findings", adds+".yaml"), nil, 0o644))
		}
		f, err := os.OpenFile(filepath.Join(ledger, "nights.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		require.NoError(t, err)
		_, _ = fmt.Fprintln(f, in)
		require.NoError(t, f.Close())
		return append(asked, nightStep(t, "a pull request of the ledger's changes", filepath.Join(dir, in), "echo "+open, "GITHUB_RUN_NUMBER=7", "GITHUB_REF_NAME=main")...)
	}
	assert.Contains(t, strings.Join(night("first", "0", ""), "\n"), "pr create --head ledger --base main --title The ledger after the last nights")
	assert.NotContains(t, strings.Join(night("second", "1", "b"), "\n"), "pr create")
	assert.NotContains(t, strings.Join(night("third", "1", "c"), "\n"), "pr create")
	assert.Equal(t, "first\nsecond\nthird", git("origin", "show", "ledger:scenarios/ledger/nights.jsonl"))
	assert.Equal(t, "b.yaml\nc.yaml", git("origin", "ls-tree", "--name-only", "ledger:scenarios/ledger/findings"))
	assert.Equal(t, "1", git("origin", "rev-list", "--count", "main..ledger"))
}
