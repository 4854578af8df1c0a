package scenarios

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// perJob is a key of the workload that says something of single jobs, by number.
type perJob struct {
	key     string // under workload
	of      func(*Workload) *map[int]time.Duration
	usual   string // what is so for the other jobs
	says    string // of job N
	example string
}

// slow, cancel and deadline in a plan; workload.slow.3=15m as a setting.
var perJobs = []perJob{
	{"slow", func(w *Workload) *map[int]time.Duration { return &w.Slow }, "as workload.work", "how long a worker executes job N", "15m"},
	{"cancel", func(w *Workload) *map[int]time.Duration { return &w.Cancel }, "never", "how long after its submission job N is cancelled", "2s"},
	{"deadline", func(w *Workload) *map[int]time.Duration { return &w.Deadline }, "never", "how long after its submission job N times out", "10s"},
}

// prefix begins the settings of single jobs.
func (k perJob) prefix() string { return "workload." + k.key + "." }

// tag is what a value may be.
func (k perJob) tag() reflect.StructTag {
	f, _ := reflect.TypeFor[Workload]().FieldByNameFunc(func(name string) bool { return strings.EqualFold(name, k.key) })
	return elementTag(f.Tag)
}

func (k perJob) setting() Setting {
	return Setting{Name: k.prefix() + "N", Type: typeName(durationType, k.tag()), Default: k.usual, Doc: k.says, Allowed: allowed(durationType, k.tag())}
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
	value := reflect.New(durationType).Elem()
	if e := setScalar(name, value, text, k.tag()); e != nil {
		return e
	}
	all := maps.Clone(*k.of(&p.Workload))
	if all == nil {
		all = map[int]time.Duration{}
	}
	all[n] = time.Duration(value.Int())
	*k.of(&p.Workload) = all
	return nil
}

// assignments lists them as [Plan.Set] takes them.
func (k perJob) assignments(w *Workload) (list []string) {
	all := *k.of(w)
	for _, n := range slices.Sorted(maps.Keys(all)) {
		list = append(list, k.prefix()+strconv.Itoa(n)+"="+durationText(all[n]))
	}
	return list
}

func checkPerJob(p *Plan) *PlanError {
	for _, k := range perJobs {
		for _, n := range slices.Sorted(maps.Keys(*k.of(&p.Workload))) {
			if n < 1 || n > p.Workload.Jobs {
				return &PlanError{Path: k.prefix() + strconv.Itoa(n), Message: fmt.Sprintf("there is no job %d", n), Remedy: fmt.Sprintf("the workload has jobs 1 to %d", p.Workload.Jobs)}
			}
		}
	}
	return nil
}
