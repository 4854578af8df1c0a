package engine

// OutputSettings are the knobs of the output policy (seed 003, section 2).
type OutputSettings struct{}

func documentedOutput() OutputSettings { return OutputSettings{} }

func hardenedOutput() OutputSettings { return documentedOutput() }
