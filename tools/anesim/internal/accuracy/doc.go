// Package accuracy reports how far the model is from published measurements: as text, as JSON, as
// an HTML page and as Markdown. Next to the errors of the fit to all rows it shows the errors of
// fits that leave a row out, and how many measurements lie in their intervals. Package bench does
// the comparison and the fits; this package formats them.
package accuracy
