// Package lock is a lock in Redis with an owner, a TTL and a renewal (Scheduler internals, section 8).
//
// A lock is a string key whose value is its owner's token. It is taken by SET NX PX, renewed by a
// Lua script that compares the token, and released under WATCH, likewise only by its owner. While
// [Locker.WithLock] runs a function, a goroutine renews the lock every third of its TTL; after
// too many failures in a row it stops, and the lock is left to expire while the function goes on.
//
// [Tick] is the lock of the reconciler, the replayer and the snapshot's writer, which nothing renews in
// the background.
//
// The lock serialises well-behaved holders. It is no fence: a holder that is paused past the TTL
// does not notice. A writer that needs one compares the token ([Watch]) where it writes; what goes elsewhere
// than to Redis is at least not begun once [Lock.Expired] says that the TTL has passed.
package lock
