-- stopped by: error
goto nowhere
