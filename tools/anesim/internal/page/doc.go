// Package page writes a report as a single HTML file that works without a network, fonts or
// libraries. Its pictures are SVG drawn by package picture. A short script sorts and searches its
// table and shows a window of the rows. The file contains the JSON document with all numbers for
// download.
package page
