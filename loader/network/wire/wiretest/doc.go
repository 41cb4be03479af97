// Package wiretest writes protocol-buffer messages field by field, for the files that tests read.
package wiretest
