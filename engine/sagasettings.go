package engine

// SagaSettings are the knobs of sagas (seed 003, section 4).
type SagaSettings struct{}

func documentedSaga() SagaSettings { return SagaSettings{} }

func hardenedSaga() SagaSettings { return documentedSaga() }
