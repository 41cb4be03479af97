// Package accuracy says how far the model is from published measurements: for people, as JSON,
// as a page and as Markdown, with the errors of fits that had not seen a row beside those of the
// fit to all, and with what its intervals hold. Package bench compares and fits; what is here
// lays the comparison out.
package accuracy
