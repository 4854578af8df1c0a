// Package config has the scheduler's settings that judging needs, under their names in a plan. [Configure]
// copies them by name, since an oracle shares no code with its subject.
package config
