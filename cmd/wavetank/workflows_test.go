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
		Env         map[string]string `json:"env"`
		Steps       []step            `json:"steps"`
	} `json:"jobs"`
}

type step struct {
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	If      string            `json:"if"`
	Uses    string            `json:"uses"`
	With    map[string]any    `json:"with"`
	Run     string            `json:"run"`
	Env     map[string]string `json:"env"`
	Timeout int               `json:"timeout-minutes"`
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
	minutesOf := func(s step) (minutes int) {
		if m := said.FindStringSubmatch(s.Name); m != nil {
			minutes, _ = strconv.Atoi(m[1])
		}
		return minutes
	}
	takes := func(job string) (minutes int) {
		for _, step := range w.Jobs[job].Steps {
			minutes += minutesOf(step)
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
	for _, name := range []string{"plans", "faults"} { // a job that is ended uploads nothing
		limits := 0
		for _, step := range w.Jobs[name].Steps {
			assert.GreaterOrEqual(t, 3*step.Timeout, 4*minutesOf(step), "%s, %s", name, step.Name)
			limits += step.Timeout
		}
		assert.LessOrEqual(t, limits+5, w.Jobs[name].Timeout, name)
	}
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

// Who runs worlds has no token, neither in its environment nor beside the sources.
func TestTheTokenIsWhereGitHubIsTold(t *testing.T) {
	w := readWorkflow(t, "nightly.yml")
	for name, job := range w.Jobs {
		assert.NotContains(t, job.Env, "GH_TOKEN", name)
		for _, step := range job.Steps {
			_, has := step.Env["GH_TOKEN"]
			tells := strings.Contains(step.Run, "gh ") || strings.Contains(step.Run, "git push")
			assert.Equal(t, tells, has, "%s, %s", name, step.Name)
			assert.False(t, has && strings.Contains(step.Run, "wavetank "), "%s, %s", name, step.Name)
			if name == "night" && strings.HasPrefix(step.Uses, "actions/checkout@") {
				assert.Equal(t, false, step.With["persist-credentials"])
			}
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
