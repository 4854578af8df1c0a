// Package queue runs a campaign on several machines, through JetStream.
//
// A [Coordinator] has the campaign's folder. It puts chunks of runs into a stream with work-queue retention,
// reads records from another stream, and examines what breaks a promise. [Work] is a machine that joins. It
// takes a chunk whenever its workers are about to run out of work, and reports the chunk as under way until
// it is done. It acknowledges the chunk once the records are stored. A chunk that is no longer reported is
// redelivered. So each chunk is done at least once. If a run is done twice, both records must be equal;
// otherwise the run is not deterministic.
//
// A machine works on the oldest campaign that has chunks. A campaign that was given up, or whose last runs
// are under way, keeps it from no other.
//
// All names contain the digest of the job, which covers its spec, its build and the hash of its program. So
// do all messages. Campaigns and builds are therefore never mixed up.
//
//	wavetank-DIGEST-chunks     wavetank.DIGEST.chunk.FIRST  a chunk, until it is done
//	wavetank-DIGEST-runs       wavetank.DIGEST.run.N        a record
//	OBJ_wavetank-DIGEST        job.json                     the job
//
// The folder and the streams are the whole state: a coordinator that is restarted continues from them. It
// deletes the streams when the campaign is over. No process runs a world while it is connected: workers are
// processes of their own, and communicate only with their parents.
//
// Its files, each of which calls only those after it:
//
//	coordinate.go          the machine that has the folder
//	listen.go              the records that it reads
//	ask.go                 the chunks that it asks for
//	work.go                a machine that joins
//	shift.go               its work on one campaign
//	find.go                which campaign it works on
//	hand.go                the chunks that it has in hand
//	streams.go             streams, subjects and messages
//	connect.go, reason.go  a connection to the server, and what is wrong with it
package queue
