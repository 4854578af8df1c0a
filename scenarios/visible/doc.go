// Package visible shows text that comes from files and servers as it is: what would steer a terminal, or turn the order
// of letters on a page, is written out.
package visible
