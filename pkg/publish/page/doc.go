// Package page writes the report of a run: one HTML page that needs nothing but
// itself, and the pictures on it as files.
//
// In goes a run's folder, finished (result.Finish), and a comparison where there is
// one. Out come report.html and charts/*.svg and *.png in that folder, and a new
// manifest. Tables are those of publish/table, pictures those of publish/chart; what
// could not be drawn is named with its reason.
//
// The page loads nothing: styles and pictures are in it, there is no script, and a
// content security policy forbids any request. Text of others is escaped. It refuses
// a folder without result.json. What does not fit the folder's manifest is named on
// the page, and the manifest then stays as it is; records and trees that are missing
// or cut off cost the pictures made of them, not the page.
package page
