package servers

import (
	"crypto/x509"
	"os"

	"github.com/wavetank-sim/wavetank/cmd/internal/cli"
	"github.com/wavetank-sim/wavetank/scenarios/strictyaml"
)

// ReadAuthority reads the certificate of an authority, which said names the file of.
func ReadAuthority(said, path string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(path)
	if err != nil {
		return nil, cli.Fail(cli.ExitUsage, "%s is %s: %v; name a file that can be read", said, path, strictyaml.FileReason(err))
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, cli.Fail(cli.ExitUsage, "%s is %s, which holds no certificate in PEM; name a file with the authority's certificate", said, path)
	}
	return pool, nil
}
