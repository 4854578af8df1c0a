package settings

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Validate says everything that is wrong with s, and what would be right: each setting against the
// bounds in its tags, then those that must agree with each other.
func (s Settings) Validate() error {
	errs := checkFields("", reflect.ValueOf(s))
	if s.BackoffBase > s.BackoffMax {
		errs = append(errs, fmt.Errorf("settings: backoff_base is %v; it must not be longer than backoff_max, %v", s.BackoffBase, s.BackoffMax))
	}
	if err := s.Policy.validate(); err != nil {
		errs = append(errs, err)
	}
	if _, err := s.TopicTimeouts.Parse(); err != nil {
		errs = append(errs, fmt.Errorf("settings: topic_timeouts %w", err))
	}
	return errors.Join(errs...)
}

// Parse returns the timeouts by topic, or says what is wrong with them.
func (t TopicTimeouts) Parse() (map[string]time.Duration, error) {
	if t == "" {
		return nil, nil
	}
	timeouts := map[string]time.Duration{}
	for entry := range strings.SplitSeq(string(t), ",") {
		topic, text, ok := strings.Cut(strings.TrimSpace(entry), "=")
		d, err := time.ParseDuration(text)
		if _, twice := timeouts[topic]; !ok || topic == "" || err != nil || d < time.Second || twice {
			return nil, fmt.Errorf("has the entry %q; list each topic once, with a duration of 1s or more, as in job.fast=20s,job.slow=10m", entry)
		}
		timeouts[topic] = d
	}
	return timeouts, nil
}

// checkFields checks every field of a group of settings, and of the groups in it.
func checkFields(path string, v reflect.Value) (errs []error) {
	for i := range v.NumField() {
		field := v.Type().Field(i)
		name := path + field.Tag.Get("yaml")
		if field.Type.Kind() == reflect.Struct {
			errs = append(errs, checkFields(name+".", v.Field(i))...)
		} else if err := checkField(v.Field(i), field.Tag); err != nil {
			errs = append(errs, fmt.Errorf("settings: %s %w", name, err))
		}
	}
	return errs
}

// checkField compares one value with the tags oneof, min and max.
func checkField(v reflect.Value, tag reflect.StructTag) error {
	if words := tag.Get("oneof"); words != "" {
		if !slices.Contains(strings.Split(words, ","), v.String()) {
			return fmt.Errorf("is %q; it must be one of %s", v.String(), strings.ReplaceAll(words, ",", ", "))
		}
		return nil
	}
	if v.Kind() == reflect.Bool || v.Kind() == reflect.String {
		return nil
	}
	low, err := parseBound(v, tag.Get("min"))
	if err != nil {
		return err
	}
	high, err := parseBound(v, tag.Get("max"))
	if err != nil {
		return err
	}
	if n := v.Int(); n < low || n > high {
		return fmt.Errorf("is %v; it must be from %s to %s", v.Interface(), tag.Get("min"), tag.Get("max"))
	}
	return nil
}

func parseBound(v reflect.Value, s string) (int64, error) {
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d, err := time.ParseDuration(s)
		return int64(d), err
	}
	return strconv.ParseInt(s, 10, 64)
}
