package plans

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// PerJob is a key of the workload that sets a duration or a text for single jobs, by number. Its doc calls
// the job N.
type PerJob struct {
	key     string // under workload
	usual   string // what holds for the other jobs
	Example string

	needs    *Need  // as in a [Knob]
	scenario string // likewise
}

// perJobs are these keys: for example slow in a plan, and workload.slow.3=15m as a setting.
var perJobs = []PerJob{
	{key: "slow", usual: "as workload.work", Example: "15m"},
	{key: "cancel", usual: "never", Example: "2s"},
	{key: "deadline", usual: "never", Example: "10s"},
	{key: "approve", usual: "never", Example: "5s", needs: hasApproval, scenario: "approval"},
	{key: "change", usual: "never", Example: "2s", scenario: "approval"},
	{key: "label", usual: "none", Example: "placement.zone=zone-2"},
	{key: "requires", usual: "nothing", Example: "gpu"},
	{key: "fail", usual: "never", Example: "timeout"},
	{key: "approve_replay", usual: "never", Example: "1m", needs: hasReplays, scenario: "replay-approval"},
	{key: "mend_replay", usual: "never", Example: "1m", needs: hasReplays, scenario: "replay-mended"},
	{key: "ask_replay", usual: "never", Example: "1m", needs: hasReplays, scenario: "replay-asked"},
	{key: "deny_replay", usual: "never", Example: "1m", needs: hasReplays, scenario: "replay-asked"},
	{key: "operator_of", usual: "the group that the triage policy names", Example: "interns", needs: hasOperator, scenario: "replay-approval"},
	{key: "topic", usual: Topic, Example: "job.gpu"},
	{key: "answer", usual: "SUCCEEDED", Example: "FAILED_FATAL"},
}

// Prefix is the prefix of the settings of single jobs.
func (k PerJob) Prefix() string { return "workload." + k.key + "." }

// of returns the mapping from the numbers of jobs.
func (k PerJob) of(w *Workload) reflect.Value { return strictyaml.Field(w, k.key) }

// Scalar is the scalar of a job's setting with that name.
func (k PerJob) Scalar(name string) strictyaml.Scalar {
	s := strictyaml.Element(reflect.TypeFor[Workload](), k.key)
	s.Name = name
	return s
}

func (k PerJob) setting() Setting {
	s := k.Scalar(k.Prefix() + "N")
	return Setting{Name: s.Name, Type: s.Type(), Default: k.usual, Doc: s.Doc(), Allowed: s.Allowed(), Example: k.Example, Scenario: cmp.Or(k.scenario, scenarioUsual)}
}

// PerJobOf returns the key of a setting such as workload.slow.3, and the job.
func PerJobOf(name string) (k PerJob, job string, ok bool) {
	for _, k := range perJobs {
		if job, ok := strings.CutPrefix(name, k.Prefix()); ok {
			return k, job, true
		}
	}
	return PerJob{}, "", false
}

// setPerJob changes such a setting. It does not modify the plan's own mapping, which a copy may share.
func (p *Plan) setPerJob(k PerJob, name, job, text string) error {
	n, err := strconv.Atoi(job)
	if err != nil {
		return &strictyaml.Error{Path: name, Message: fmt.Sprintf("%s does not end in the number of a job", name), Remedy: "write " + k.Prefix() + "3=" + k.Example}
	}
	value, err := k.Scalar(name).Parse(text)
	if err != nil {
		return err
	}
	k.copy(&p.Workload, &p.Workload)
	if k.of(&p.Workload).IsNil() {
		k.of(&p.Workload).Set(reflect.MakeMap(k.of(&p.Workload).Type()))
	}
	k.of(&p.Workload).SetMapIndex(reflect.ValueOf(n), value)
	return nil
}

// copy copies the key's values from one workload to another, which then share nothing.
func (k PerJob) copy(to, from *Workload) {
	all := k.of(from)
	if all.IsNil() {
		k.of(to).SetZero()
		return
	}
	copied := reflect.MakeMap(all.Type())
	for _, n := range all.MapKeys() {
		copied.SetMapIndex(n, all.MapIndex(n))
	}
	k.of(to).Set(copied)
}

// forget removes the value for job n.
func (k PerJob) forget(w *Workload, n int) {
	if all := k.of(w); !all.IsNil() {
		all.SetMapIndex(reflect.ValueOf(n), reflect.Value{})
	}
}

// jobs lists the jobs that have a value.
func (k PerJob) jobs(w *Workload) []int { return jobsOf(k.of(w)) }

func jobsOf(all reflect.Value) (list []int) {
	for _, n := range all.MapKeys() {
		list = append(list, int(n.Int()))
	}
	slices.Sort(list)
	return list
}

// Text is the value for job n, as a setting; "" if there is none.
func (k PerJob) Text(w *Workload, n int) string {
	if v := k.of(w).MapIndex(reflect.ValueOf(n)); v.IsValid() {
		return strictyaml.TextOf(v)
	}
	return ""
}

// assignments lists the values as [Plan.Set] takes them.
func (k PerJob) assignments(w *Workload) (list []string) {
	for _, n := range k.jobs(w) {
		list = append(list, k.Prefix()+strconv.Itoa(n)+"="+k.Text(w, n))
	}
	return list
}

func checkPerJob(p *Plan) *strictyaml.Error {
	for _, k := range perJobs {
		for _, n := range k.jobs(&p.Workload) {
			if n < 1 || n > p.Workload.Jobs {
				return &strictyaml.Error{Path: k.Prefix() + strconv.Itoa(n), Message: fmt.Sprintf("there is no job %d", n), Remedy: fmt.Sprintf("the workload has jobs 1 to %d", p.Workload.Jobs)}
			}
		}
	}
	return nil
}
