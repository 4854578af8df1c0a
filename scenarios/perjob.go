package scenarios

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// perJob is a key of the workload that says something of single jobs, by number: a duration or a text.
type perJob struct {
	key     string // under workload
	usual   string // what is so for the other jobs
	says    string // of job N
	example string
}

// slow, cancel and deadline in a plan; workload.slow.3=15m as a setting.
var perJobs = []perJob{
	{"slow", "as workload.work", "how long a worker executes job N", "15m"},
	{"cancel", "never", "how long after its submission job N is cancelled", "2s"},
	{"deadline", "never", "how long after its submission job N has its deadline: the reconciler's next tick times it out unless it has ended", "10s"},
	{"approve", "never", "how long somebody looks at job N, once it waits for an approval, before he approves it", "5s"},
	{"change", "never", "how long after its submission job N is submitted again, with another payload", "2s"},
	{"label", "none", "the labels of job N, joined by commas", "placement.zone=zone-2"},
	{"requires", "nothing", "what job N requires of a pool, joined by commas", "gpu"},
	{"fail", "never", "how the executions of job N fail: a reason code, and more behind semicolons", "timeout"},
	{"approve_replay", "never", "how long after its submission the operator approves the replay of job N, at the earliest", "1m"},
	{"topic", topic, "the topic of job N", "job.gpu"},
	{"answer", "SUCCEEDED", "what the worker of job N answers", "FAILED_FATAL"},
}

// prefix begins the settings of single jobs.
func (k perJob) prefix() string { return "workload." + k.key + "." }

// field is where the workload keeps what the key says.
func (k perJob) field() field {
	fields := fieldsOf(reflect.TypeFor[Workload]())
	return fields[slices.IndexFunc(fields, func(f field) bool { return f.name == k.key })]
}

// of is the mapping from the numbers of jobs.
func (k perJob) of(w *Workload) reflect.Value {
	return reflect.ValueOf(w).Elem().Field(k.field().index)
}

// valueType is what it says of a job.
func (k perJob) valueType() reflect.Type { return k.of(&Workload{}).Type().Elem() }

// tag is what a value may be.
func (k perJob) tag() reflect.StructTag { return elementTag(k.field().tag) }

func (k perJob) setting() Setting {
	t, tag := k.valueType(), k.tag()
	return Setting{Name: k.prefix() + "N", Type: typeName(t, tag), Default: k.usual, Doc: k.says, Allowed: allowed(t, tag), Example: k.example}
}

// perJobOf finds the key of a setting such as workload.slow.3, and the job.
func perJobOf(name string) (k perJob, job string, ok bool) {
	for _, k := range perJobs {
		if job, ok := strings.CutPrefix(name, k.prefix()); ok {
			return k, job, true
		}
	}
	return perJob{}, "", false
}

// setPerJob changes such a setting. The plan's own mapping stays as it is: a copy may share it.
func (p *Plan) setPerJob(k perJob, name, job, text string) error {
	n, err := strconv.Atoi(job)
	if err != nil {
		return &PlanError{Path: name, Message: fmt.Sprintf("%s does not end in the number of a job", name), Remedy: "write " + k.prefix() + "3=" + k.example}
	}
	value := reflect.New(k.valueType()).Elem()
	if e := setScalar(name, value, text, k.tag()); e != nil {
		return e
	}
	k.copy(&p.Workload, &p.Workload)
	if k.of(&p.Workload).IsNil() {
		k.of(&p.Workload).Set(reflect.MakeMap(k.of(&p.Workload).Type()))
	}
	k.of(&p.Workload).SetMapIndex(reflect.ValueOf(n), value)
	return nil
}

// copy gives one workload what the key says in another, with nothing shared.
func (k perJob) copy(to, from *Workload) {
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

// forget takes away what it says of job n.
func (k perJob) forget(w *Workload, n int) {
	if all := k.of(w); !all.IsNil() {
		all.SetMapIndex(reflect.ValueOf(n), reflect.Value{})
	}
}

// jobs lists those that it says something of.
func (k perJob) jobs(w *Workload) (list []int) {
	for _, n := range sortedKeys(k.of(w)) {
		list = append(list, int(n.Int()))
	}
	return list
}

// text is what it says of job n, as a setting; "" is nothing.
func (k perJob) text(w *Workload, n int) string {
	if v := k.of(w).MapIndex(reflect.ValueOf(n)); v.IsValid() {
		return textOf(v)
	}
	return ""
}

// assignments lists them as [Plan.Set] takes them.
func (k perJob) assignments(w *Workload) (list []string) {
	for _, n := range k.jobs(w) {
		list = append(list, k.prefix()+strconv.Itoa(n)+"="+k.text(w, n))
	}
	return list
}

func checkPerJob(p *Plan) *PlanError {
	for _, k := range perJobs {
		for _, n := range k.jobs(&p.Workload) {
			if n < 1 || n > p.Workload.Jobs {
				return &PlanError{Path: k.prefix() + strconv.Itoa(n), Message: fmt.Sprintf("there is no job %d", n), Remedy: fmt.Sprintf("the workload has jobs 1 to %d", p.Workload.Jobs)}
			}
		}
	}
	return nil
}
