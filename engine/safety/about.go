package safety

import (
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// AboutRequest says whether a call's error is about what was asked, such as a message that is too large. The
// next call may well be answered, and the same one again will not.
func AboutRequest(err error) bool {
	switch status.Code(err) {
	case codes.InvalidArgument, codes.OutOfRange:
		return true
	case codes.ResourceExhausted: // a quota, too, which is another call's as well
		return strings.Contains(err.Error(), tooLarge)
	}
	return false
}

// tooLarge is what grpc-go says of a message that its server does not take (its rpc_util.go: "received message larger than
// max", "trying to send message larger than max").
const tooLarge = "message larger than max"
