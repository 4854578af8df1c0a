package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestPatienceEndsOnceForEachStandstill(t *testing.T) {
	var p patience
	count := func(now string, looks int) (ended int) {
		for range looks {
			if p.over(now) {
				ended++
			}
		}
		return ended
	}
	assert.Equal(t, 0, count("a", patienceLooks-1))
	assert.Equal(t, 0, count("b", patienceLooks-1), "something has changed")
	assert.Equal(t, 1, count("b", 3*patienceLooks))
	assert.Equal(t, 1, count("c", 3*patienceLooks))
}
