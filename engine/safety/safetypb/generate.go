// Package safetypb is the contract of the safety kernel and the output policy, made from safety.proto by
// `go generate`, which needs protoc.
package safetypb

//go:generate go build -o ../../../bin/ google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
//go:generate protoc --plugin=../../../bin/protoc-gen-go --plugin=../../../bin/protoc-gen-go-grpc --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative safety.proto
