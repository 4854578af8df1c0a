// Package queue runs a campaign on several machines, by way of JetStream.
//
// A [Coordinator] has the campaign's folder. It puts chunks of runs into a stream with work-queue retention, reads what comes of them
// from another stream, and examines what breaks a promise. [Work] is a machine that joins: it takes a chunk whenever its
// workers are about to have nothing to do, says that it is under way for as long as it is, and acknowledges it once its
// records are stored. A chunk that nobody speaks of any more is delivered again. So each chunk is done at least once, and
// a run that is done twice must be the same, or it is not deterministic.
//
// A machine works at the oldest campaign that has chunks. One that was given up, or whose last runs are under way, keeps it
// from no other.
//
// All names have the digest of the job in them: of its spec, its build and the hash of its program. So do all messages. What is
// of another campaign or another build is never mixed up with it.
//
//	wavetank-DIGEST-chunks     wavetank.DIGEST.chunk.FIRST  a chunk, until it is done
//	wavetank-DIGEST-runs       wavetank.DIGEST.run.N        a record
//	OBJ_wavetank-DIGEST        job.json                     the job
//
// The folder and the streams are all the state that there is: a coordinator that is started again goes on from them. Once the
// campaign is over it deletes the streams. Neither side runs a world while it is connected: workers are processes of their
// own, and speak with nobody but their parent.
//
// Its files, each of which calls only those after it:
//
//	coordinate.go          the side that has the folder
//	listen.go              what comes back to it
//	ask.go                 what it asks for
//	work.go                a machine that joins
//	shift.go               its time at one campaign
//	find.go                which campaign it works at
//	hand.go                the chunks that it has in hand
//	streams.go             streams, subjects and messages
//	connect.go, reason.go  a connection to the server, and what is wrong with it
package queue
