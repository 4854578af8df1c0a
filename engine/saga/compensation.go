package saga

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/wavetank-sim/wavetank/engine/job"
	"github.com/wavetank-sim/wavetank/engine/workflow"
)

// Labels and environment of a compensation's job (Scheduler internals, section 4).
const (
	labelCompensation   = "saga_compensation" // "true", in the labels and in the environment
	labelIsCompensation = "is_compensation"   // "true"
	labelWorkflowID     = "saga_workflow_id"  // likewise in both
	labelJobID          = "saga_job_id"       // the job that it undoes
)

// priorityCritical is every compensation's.
const priorityCritical = "CRITICAL"

// Name is what the saga of a tenant's workflow is known by, as another tenant may call a workflow of its own the same.
// For the default tenant that is the workflow's id, as in Scheduler internals, unless it would read as another tenant's.
func Name(tenant, workflowID string) string {
	tenant = job.TenantOf(tenant)
	if tenant == job.DefaultTenant && !strings.Contains(workflowID, ":") {
		return workflowID
	}
	return url.QueryEscape(tenant) + ":" + workflowID
}

// StackKey is a list: the compensations of a saga as JSON, the first recorded first.
func StackKey(name string) string { return "saga:" + name + ":stack" }

// lockKey is the key of the lock of a saga's rollback.
func lockKey(name string) string { return "saga:" + name + ":lock" }

// Template is the job that undoes what req did: the request with the overrides of its compensation. It has
// no id yet, is itself no part of the workflow, and has no compensation of its own.
func Template(req *job.Request) job.Request {
	c, t := req.Compensation, *req
	t.JobID, t.Compensation, t.WorkflowID = "", nil, ""
	t.Priority = priorityCritical
	if c.Topic != "" {
		t.Topic = c.Topic
	}
	if c.Payload != nil {
		t.Payload = c.Payload
	}
	if c.Budget != nil {
		t.Budget = c.Budget
	}
	if c.Capability != "" {
		t.Capability = c.Capability
	}
	t.IdempotencyKey = c.IdempotencyKey
	if t.IdempotencyKey == "" {
		t.IdempotencyKey = Key(req.WorkflowID, firstOf(req), t.Topic, t.Capability, req.StepIndex)
	}
	t.Labels, t.Env = job.WithoutOwnLabels(overlay(req.Labels, c.Labels)), overlay(req.Env, c.Env)
	mark := map[string]string{labelCompensation: "true", labelWorkflowID: req.WorkflowID}
	maps.Copy(t.Labels, mark)
	maps.Copy(t.Env, mark)
	t.Labels[labelIsCompensation], t.Labels[labelJobID] = "true", req.JobID
	return t
}

// overlay is base with over on top, shared with neither.
func overlay(base, over map[string]string) map[string]string {
	m := maps.Clone(base)
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, over)
	return m
}

// firstOf is the first of the jobs that have req's effect once between them, under one idempotency key: the first attempt of
// a run's step, and the original of a replay that keeps its key.
func firstOf(req *job.Request) string {
	first := *req
	if of := req.Labels[job.LabelReplayOf]; of != "" && req.IdempotencyKey != req.JobID {
		first.JobID = of
	}
	if step := workflow.StepOf(&first); step != "" {
		return workflow.JobID(req.WorkflowID, step, 1)
	}
	return first.JobID
}

// Key is the idempotency key of a compensation that names none.
func Key(workflowID, jobID, topic, capability string, step int) string {
	return hash(fmt.Sprintf("%s|%s|%s|%s|%d", workflowID, jobID, topic, capability, step))
}

// idOf is the id of the job of a compensation, by its idempotency key. A key that a request names itself need not be
// unique beyond its own saga; a job's id is.
func idOf(name, key string) string { return "comp-" + hash(name + "|" + key)[:16] }

func hash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}
