package safety

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// AboutRequest says whether a call's error is about what was asked, such as a message that is too large. The
// next call may well be answered, and the same one again will not.
func AboutRequest(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.ResourceExhausted, codes.OutOfRange, codes.FailedPrecondition:
		return true
	}
	return false
}
