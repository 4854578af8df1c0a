package kernel

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/wavetank-sim/wavetank/engine/safety/safetypb"
)

// Server answers by a policy. It is safe for concurrent use.
type Server struct {
	safetypb.UnimplementedSafetyKernelServer
	safetypb.UnimplementedOutputPolicyServiceServer
	policy atomic.Pointer[prepared]
}

// NewServer returns one that answers by p, or says what is wrong with it.
func NewServer(p Policy) (*Server, error) {
	s := &Server{}
	return s, s.Set(p)
}

// Register offers both services.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	safetypb.RegisterSafetyKernelServer(r, s)
	safetypb.RegisterOutputPolicyServiceServer(r, s)
}

// Set makes s answer by p from now on, or says what is wrong with it and changes nothing.
func (s *Server) Set(p Policy) error {
	if err := p.Validate(); err != nil {
		return err
	}
	next := &prepared{Policy: p, snapshot: p.Snapshot()}
	for _, r := range p.Rules {
		labels, _ := pairs(r.Labels)
		constraints, _ := pairs(r.Constraints)
		next.labels, next.constraints = append(next.labels, labels), append(next.constraints, constraints)
	}
	s.policy.Store(next)
	return nil
}

// prepared is a policy with its texts taken apart.
type prepared struct {
	Policy
	snapshot    string
	labels      []map[string]string // of each rule
	constraints []map[string]string // likewise
}

// Check decides whether a job may run.
func (s *Server) Check(_ context.Context, req *safetypb.CheckRequest) (*safetypb.CheckResponse, error) {
	p := s.policy.Load()
	for i := range p.Rules {
		if r := &p.Rules[i]; r.fits(req, p.labels[i]) {
			return &safetypb.CheckResponse{Decision: decided(r.Decision), Reason: r.Reason, Constraints: p.constraints[i], PolicySnapshot: p.snapshot}, nil
		}
	}
	return &safetypb.CheckResponse{Decision: decided(p.Default), Reason: "no rule is about it", PolicySnapshot: p.snapshot}, nil
}

func decided(word string) safetypb.Decision {
	if word == "" {
		word = Allow
	}
	return safetypb.Decision(safetypb.Decision_value[word])
}

func (r *Rule) fits(req *safetypb.CheckRequest, labels map[string]string) bool {
	for key, pattern := range labels {
		value, has := req.GetLabels()[key]
		if !has || value != pattern && !fits(pattern, value) {
			return false
		}
	}
	return fits(r.Topic, req.GetTopic()) && fits(r.Tenant, req.GetTenant()) && fits(r.JobID, req.GetJobId())
}

// CheckOutput decides what becomes of a job's result: by the rules for the metadata or, with_content, by
// those for the content.
func (s *Server) CheckOutput(_ context.Context, req *safetypb.CheckOutputRequest) (*safetypb.CheckOutputResponse, error) {
	p := s.policy.Load()
	for i := range p.Output {
		if r := &p.Output[i]; r.fits(req) {
			ptr := strings.NewReplacer("{result_ptr}", req.GetResultPtr(), "{job_id}", req.GetJobId()).Replace(r.RedactedPtr)
			return &safetypb.CheckOutputResponse{Decision: safetypb.OutputDecision(safetypb.OutputDecision_value["OUTPUT_"+r.Decision]), Reason: r.Reason, RedactedPtr: ptr}, nil
		}
	}
	return &safetypb.CheckOutputResponse{Decision: safetypb.OutputDecision_OUTPUT_ALLOW, Reason: "no rule is about it"}, nil
}

func (r *OutputRule) fits(req *safetypb.CheckOutputRequest) bool {
	return r.Sync == !req.GetWithContent() && bytes.Contains(req.GetContent(), []byte(r.Content)) &&
		fits(r.Topic, req.GetTopic()) && fits(r.Tenant, req.GetTenant()) && fits(r.JobID, req.GetJobId())
}
